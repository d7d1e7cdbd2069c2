"""The battery of a robot: when new work is refused, and when it is taken again."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from robot_adapters.settings_motion import BatterySettings

_CHARGING = {1: True, 2: False, 4: True}
"""What power_supply_status of sensor_msgs/BatteryState tells of charging: 1 it charges, 2 it
discharges, 4 it is full. Other values tell nothing: a dock may pause charging, too."""
_FULL = 1.05
"""A charge up to this is a fraction: some drivers tell a little more than full."""


@dataclass(slots=True)
class Battery:
    """What a robot's battery says; nothing is known before it says anything.

    Attributes:
        charge: Fraction of the charge, 0 to 1; NaN: not known.
        low: Whether new work is refused. Once low it stays so up to `settings.enough`.
        charging: Whether it charges or is full; None: it has told neither that nor the contrary.
        percent: Whether its driver sends percent, against the message's definition: once a value
            was above 1, those below are percent, too.
    """

    settings: BatterySettings = field(default_factory=BatterySettings)
    charge: float = math.nan
    low: bool = False
    charging: bool | None = None
    percent: bool = False

    def update(self, charge: float, status: int = 0) -> bool:
        """Take a charge; tell whether it has become low by this.

        Args:
            charge: Fraction of the charge, or percent; NaN where the driver does not know it.
            status: The message's power_supply_status.
        """
        self.charging = _CHARGING.get(status, self.charging)
        self.percent = self.percent or _FULL < charge <= 100.0
        charge = charge / 100.0 if self.percent else charge
        if not 0.0 <= charge <= _FULL:  # NaN is not, either
            self.charge = math.nan
            return False
        self.charge = charge = min(charge, 1.0)
        before = self.low
        self.low = charge < (self.settings.enough if before else self.settings.low)
        return self.low and not before

    @property
    def told(self) -> str:
        """The charge in words."""
        return "unknown" if math.isnan(self.charge) else f"{100.0 * self.charge:.0f} %"

    @property
    def trouble(self) -> str:
        """Why new work is refused; "" where it is not."""
        if not self.low:
            return ""
        return (
            f"the battery is low: {100.0 * self.charge:.0f} %, work is taken again from "
            f"{100.0 * self.settings.enough:.0f} % on"
        )
