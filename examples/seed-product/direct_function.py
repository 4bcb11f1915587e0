"""What Lambda calls for the workload without a queue. Terraform names it: `<package>.direct_function.handler`."""

from .app import app

handler = app.direct_handler()
