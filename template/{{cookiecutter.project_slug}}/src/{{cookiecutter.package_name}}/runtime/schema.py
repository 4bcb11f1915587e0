"""The envelope as JSON Schema, for producers in other languages: ``python -m <package>.runtime.schema`` prints it.

The checked-in copy is ``envelope.schema.json`` beside this file.
"""

import json

from .envelope import Envelope


def envelope_schema() -> str:
    schema = Envelope.model_json_schema()
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=2) + "\n"


if __name__ == "__main__":
    print(envelope_schema(), end="")
