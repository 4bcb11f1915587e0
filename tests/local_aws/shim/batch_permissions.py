"""A batch call needs the permission of its single call, as on AWS: there is no IAM action of its own for it.

With IAM enforced, MiniStack asks for `sqs:ChangeMessageVisibilityBatch` and its like, which no policy that works on
AWS can name.
"""

from typing import Any

from ministack.core import iam_actions

OF_THE_SINGLE_CALL = {
    "sqs:ChangeMessageVisibilityBatch": "sqs:ChangeMessageVisibility",
    "sqs:DeleteMessageBatch": "sqs:DeleteMessage",
    "sqs:SendMessageBatch": "sqs:SendMessage",
    "sns:PublishBatch": "sns:Publish",
}


def install() -> None:
    original = iam_actions.extract_iam_action

    def extract(*arguments: Any, **options: Any) -> str | None:
        action: str | None = original(*arguments, **options)
        return OF_THE_SINGLE_CALL.get(action or "", action)

    iam_actions.extract_iam_action = extract
