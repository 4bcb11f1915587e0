"""The local AWS the tests and the demo run on, and everything needed to put the product on it.

One file per idea: `engine` starts and stops the local AWS, `shim` closes its gaps, `project` generates and packages a
consumer, `terraform` applies an example, `runtime_api` runs a packaged handler under the real Lambda runtime client.
"""
