"""What the Gymnasium faces of an environment share: the driver, the parameters, where it stands, how it is drawn."""

from __future__ import annotations

from typing import Any

from harvestgym.core.autoreset import RunState
from harvestgym.core.env import Env
from harvestgym.core.errors import unknown
from harvestgym.core.wrappers import unwrapped, unwrapped_state

from .driver import Driver
from .episode_log import modes
from .monitoring import Monitored

Info = dict[str, Any]
Options = dict[str, Any] | None


class GymBase(Monitored):
    """An environment, or a batch of it on the device, behind a class of Gymnasium."""

    metadata: Info
    render_mode: str | None

    def _wrap(self, env: Env[Any, Any], params: Any, batch: tuple[int, ...], render_mode: str | None) -> None:
        """Put an environment inside."""
        self.core = env
        offered = dict.fromkeys((*getattr(unwrapped(env), "render_modes", ()), *modes(env)))
        if render_mode is not None and render_mode not in offered:
            raise unknown("render_mode", render_mode, [*offered, "None"])
        self.metadata = {"render_modes": list(offered), "render_fps": getattr(unwrapped(env), "render_fps", 4)}
        self.render_mode = render_mode
        self._driver = Driver(env, params, batch)
        if self._driver.offers_mask:
            self.action_masks = self._driver.mask

    @property
    def params(self) -> Any:
        """The parameters in force, in a batch the same for all; others of the same shapes may be assigned."""
        return self._driver.params

    @params.setter
    def params(self, params: Any) -> None:
        self._driver.params = params

    @property
    def lane(self) -> RunState:
        """State and key as a pytree, in a batch with a leading axis; assign one to go on from there."""
        return self._driver.lane

    @lane.setter
    def lane(self, lane: RunState) -> None:
        self._driver.lane = lane
        self._placed(lane)

    def _placed(self, lane: RunState) -> None:
        """Take note of where it stands now."""
        raise NotImplementedError

    def _set_params(self, options: Options, valid: tuple[str, ...]) -> None:
        """Change the parameters to those in the options of a reset; ConfigError for an option that is not valid."""
        for name in options or {}:
            if name not in valid:
                raise unknown("reset option", name, valid)
        if options and "params" in options:
            self.params = options["params"]

    def _draw(self, state: Any) -> Any:
        """What the environment inside draws of a state."""
        inside: Any = unwrapped(self.core)
        return inside.render(unwrapped_state(self.core, state), self.params, self.render_mode)


def scenes(env: Env[Any, Any]) -> tuple[str, ...]:
    """The render modes that are drawn from the record: those that the environment does not draw itself."""
    own = getattr(unwrapped(env), "render_modes", ())
    return tuple(mode for mode in modes(env) if mode not in own)
