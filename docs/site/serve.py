"""Shows the documentation's site in a browser of this machine.

bazel run //docs:serve [-- PORT]
"""

from __future__ import annotations

import functools
import http.server
import sys
from pathlib import Path


def main() -> None:
    # Beside this file, where Bazel puts it.
    site = Path(__file__).absolute().with_name("site")
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/docs/index.html (Ctrl+C ends it)")
        server.serve_forever()


if __name__ == "__main__":
    main()
