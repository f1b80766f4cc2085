"""The HTTP client of the openai SDK with a bound on what it reads.

Imported when the first request is sent: the rest of the package works without the SDK.
"""

from contextlib import aclosing
from typing import Any

import openai

# bytes of a body, after decompression; a longer reply is refused, of an error no more is read
MAX_REPLY = 4 << 20


class ReplyTooLarge(openai.OpenAIError):
    """The body of a successful reply is longer than MAX_REPLY."""


class BoundedClient(openai.DefaultAsyncHttpxClient):
    """The SDK's HTTP client, which reads no body beyond a bound, whatever the status.

    A connection that breaks while a body is read is a transport error like any other, which the SDK reports as its
    APIConnectionError. `reached` tells whether any server has answered.
    """

    reached = False

    async def send(
        self,
        request: Any,
        **options: Any,
    ) -> Any:
        options["stream"] = True
        response = await super().send(request, **options)
        self.reached = True
        body = bytearray()
        try:
            async with aclosing(response.aiter_bytes()) as pieces:
                async for piece in pieces:
                    body += piece
                    if len(body) > MAX_REPLY:
                        break
        finally:
            await response.aclose()
        if response.is_success and len(body) > MAX_REPLY:
            raise ReplyTooLarge(f"the reply is larger than {MAX_REPLY >> 20} MB")
        # other headers tell of a packed body, or of a charset in which the SDK cannot read an error: JSON is UTF-8
        return type(response)(
            response.status_code,
            headers={"retry-after": response.headers.get("retry-after", "")},
            content=bytes(body[:MAX_REPLY]),
            request=request,
        )
