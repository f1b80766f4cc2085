"""Questions to models behind an OpenAI-compatible server, with checked and cached replies."""
