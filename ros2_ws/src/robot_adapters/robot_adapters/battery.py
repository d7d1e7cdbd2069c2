"""The battery of a robot: when new work is refused, and when it is taken again."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from robot_adapters.settings_motion import BatterySettings

_CHARGING = {1: True, 2: False, 4: True}
"""What power_supply_status of sensor_msgs/BatteryState tells of charging: 1 it charges, 2 it
discharges, 4 it is full. Other values tell nothing: a dock may pause charging, too."""
_IS_FULL = 4
_FULL = 1.05
"""A charge up to this is a fraction: some drivers tell a little more than full."""


@dataclass(slots=True)
class Battery:
    """What a robot's battery says; nothing is known before it says anything.

    Whether a driver sends percent, against the message's definition, its values tell: one above 1
    is percent, and then all are. One below 1 is a fraction until then: drivers of percent hardly
    ever begin below 1 %. Just 1 may be a full battery or an empty one, and counts as full only
    where the driver says so, or has sent a fraction before.

    Attributes:
        settings: When it is low, and for how long it may be silent.
        topic: What it is heard on; "": it says nothing.
        now: Clock [s].
        expected: Tells whether it is to say anything, where it has not yet.
        charge: Fraction of the charge, 0 to 1; NaN: not known.
        low: Whether new work is refused. Once low it stays so up to `settings.enough`.
        charging: Whether it charges or is full; None: it has told neither that nor the contrary.
        percent: Whether its driver sends percent; None: that is not known yet.
    """

    settings: BatterySettings = field(default_factory=BatterySettings)
    topic: str = ""
    now: Callable[[], float] = time.monotonic
    expected: Callable[[], bool] = lambda: True
    charge: float = math.nan
    low: bool = False
    charging: bool | None = None
    percent: bool | None = field(init=False)
    _heard: float = field(init=False)
    _spoke: bool = False

    def __post_init__(self) -> None:
        unit = self.settings.unit
        self.percent = None if unit == "auto" else unit == "percent"
        self._heard = self.now()

    def update(self, charge: float, status: int = 0) -> bool:
        """Take a charge; tell whether it has become low by this.

        Args:
            charge: Fraction of the charge, or percent; NaN where the driver does not know it.
            status: The message's power_supply_status.
        """
        self.charging = _CHARGING.get(status, self.charging)
        if self.settings.unit == "auto":
            if _FULL < charge <= 100.0:
                self.percent = True
            elif self.percent is None and (
                0.0 < charge < 1.0 or status == _IS_FULL or charge > 1.0
            ):
                self.percent = False
        charge = charge / 100.0 if self.percent else charge
        if not 0.0 <= charge <= _FULL:  # NaN is not, either
            self.charge = math.nan
            return False
        self._heard, self._spoke = self.now(), True
        self.charge = charge = min(charge, 1.0)
        before = self.low
        self.low = charge < (self.settings.enough if before else self.settings.low)
        return self.low and not before

    @property
    def told(self) -> str:
        """The charge in words."""
        if math.isnan(self.charge):
            return "unknown"
        return "1 % or 100 %" if self._unclear else f"{100.0 * self.charge:.0f} %"

    @property
    def trouble(self) -> str:
        """Why new work is refused; "" where it is not."""
        if self.low:
            return (
                f"the battery is low: {self.told}, work is taken again from "
                f"{100.0 * self.settings.enough:.0f} % on"
            )
        if self._unclear:
            return (
                "the battery's driver says 1, which is 1 % or 100 %: set battery.unit to percent "
                "or fraction, or let it say another charge"
            )
        silent = self.now() - self._heard
        silence = self.topic and silent > self.settings.silence
        if silence and (self._spoke or self.expected()):
            return (
                f"no charge of the battery has come on {self.topic} for {silent:.0f} s: is its "
                "driver running, and does it tell its percentage? Where no driver tells it, leave "
                "sensors.battery empty"
            )
        return ""

    @property
    def _unclear(self) -> bool:
        return self.percent is None and self.charge == 1.0
