"""What a state machine publishes has its message attributes, as on AWS, so that a filter policy sees them.

MiniStack reads attributes in the form of the Query protocol only, and a state machine's come as an object.
"""

from typing import Any

from ministack.services import sns


def install() -> None:
    original = sns._parse_message_attributes

    def parse(parameters: dict[str, Any]) -> dict[str, Any]:
        given = parameters.get("MessageAttributes")
        return dict(given) if isinstance(given, dict) else dict(original(parameters))

    sns._parse_message_attributes = parse
