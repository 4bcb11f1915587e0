"""The floor of every consumer that uses pydantic: a process that defines one model and does nothing else."""

from pydantic import BaseModel


class InvoiceArgs(BaseModel):
    invoice_id: str
    customer: str
    amount: float
    lines: int = 1
