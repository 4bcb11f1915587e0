"""Ask the partner at whose till the member has paid. Partners' systems are slow, and now and then away for a day."""

import os
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen


class PurchaseUnknownError(Exception):
    """The partner knows of no such purchase: trying again cannot help."""


class PartnerAwayError(Exception):
    """The partner does not answer, or answers that it cannot: nothing is wrong with the booking."""


def confirm_purchase(partner: str, booking: str, *, patience: float) -> None:
    """Return if the partner confirms the purchase. Asking twice changes nothing.

    Args:
        partner: whom to ask.
        booking: the purchase, by the id that the partner gave the booking.
        patience: seconds to wait for the answer.

    Raises:
        PurchaseUnknownError: the partner says that there is none.
        PartnerAwayError: there is no answer.
    """
    base = os.environ["APP_PARTNERS_URL"]  # set by Terraform, never by a message
    url = f"{base}/{quote(partner, safe='')}/purchases/{quote(booking, safe='')}"
    try:
        with urlopen(url, timeout=patience) as answer:
            answer.read()
    except HTTPError as error:
        if error.code == 404:
            raise PurchaseUnknownError(booking) from error
        if error.code == 429 or error.code >= 500:
            raise PartnerAwayError(partner) from error
        raise
    except OSError as error:  # no connection, or no answer in time
        raise PartnerAwayError(partner) from error
