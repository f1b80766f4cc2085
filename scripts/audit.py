"""Known vulnerabilities of the installed packages, by pip-audit.

Exit status 1 for a vulnerable package, and where pip-audit fails. Where nothing could be asked, for want of a
network or because the index of this place has no vulnerability data, it says NOT AUDITED and ends with 0.
"""

from __future__ import annotations

import json
import subprocess
import sys

UNREACHABLE = (
    "ConnectionError",
    "NameResolutionError",
    "Timeout",
    "ProxyError",
    "SSLError",
    "ServiceUnavailable",
)


def main() -> int:
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "--format",
        "json",
        "--progress-spinner",
        "off",
        "--skip-editable",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        if any(word in done.stderr for word in UNREACHABLE):
            print(f"NOT AUDITED: the vulnerability service cannot be reached ({reason[:200]})")
            return 0
        print(done.stderr)
        return 1
    asked = [p for p in packages if "vulns" in p]
    bad = [(p, v) for p in asked for v in p["vulns"]]
    for p, v in bad:
        print(
            f"{p['name']} {p['version']}: {v['id']}, fixed in {', '.join(v.get('fix_versions') or ['no version'])}"
        )
    if not asked:
        print(
            f"NOT AUDITED: the service knows none of the {len(packages)} packages (a mirror without its data?)"
        )
    else:
        print(
            f"{len(asked)} packages audited, {len(packages) - len(asked)} unknown to the service, {len(bad)} findings"
        )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
