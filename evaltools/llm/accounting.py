"""What calls took, what a client has used so far, and what it may use."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict


class Call(BaseModel):
    """What one request took, repeats and repairs included.

    `request` is the hash of the request. Times are in milliseconds: `api_ms` at the server,
    `wait_ms` waiting for a turn or for a repeat. `attempts` counts what was sent. A number of
    tokens is None where the server did not say it, `cost` is None without a price or without the
    tokens.
    """

    model_config = ConfigDict(extra="forbid")

    request: str
    model: str = ""
    finish_reason: str = ""
    tokens_in: int | None = 0
    tokens_out: int | None = 0
    tokens_cached: int | None = 0
    cost: float | None = None
    api_ms: int = 0
    wait_ms: int = 0
    attempts: int = 0


@dataclass
class Spent:
    """What a client has used so far.

    `requests` counts what was sent, repeats and repairs included; `retries` these two alone.
    """

    requests: int = 0
    cached: int = 0
    retries: int = 0
    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True)
class Limits:
    """What may be spent; None is no limit.

    `requests` counts like `Spent.requests`. `cost` is in the unit of `price`, which is the price of
    a million tokens: (input, output).
    """

    requests: int | None = None
    cost: float | None = None
    price: tuple[float, float] | None = None

    def cost_of(
        self,
        tokens_in: int | None,
        tokens_out: int | None,
    ) -> float | None:
        """The cost of so many tokens; None without a price or where a number is unknown.

        >>> Limits(price=(2.0, 10.0)).cost_of(1_000_000, 100_000)
        3.0
        """
        if self.price is None or tokens_in is None or tokens_out is None:
            return None
        return (tokens_in * self.price[0] + tokens_out * self.price[1]) / 1e6

    def reached(
        self,
        spent: Spent,
        cost: float = 0.0,
    ) -> str:
        """Which limit is passed where so much more is spent, as a sentence; "" while more may be sent.

        >>> Limits(requests=2).reached(Spent(requests=2))
        'the limit of 2 requests is reached'
        """
        if self.requests is not None and spent.requests >= self.requests:
            return f"the limit of {self.requests} requests is reached"
        is_spent = self.cost is not None and spent.cost >= self.cost
        if is_spent or (self.cost is not None and spent.cost + cost > self.cost):
            return f"the limit of {self.cost:g} in cost is reached"
        return ""
