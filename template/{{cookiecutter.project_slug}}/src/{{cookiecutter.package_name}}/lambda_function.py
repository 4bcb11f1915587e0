"""What Lambda calls. Terraform names it: `{{ cookiecutter.package_name }}.lambda_function.handler`."""

from .app import app

handler = app.lambda_handler()
