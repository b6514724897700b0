"""The states of a spdld.torch.Loader, which change only along the transitions that are listed here."""
import enum


class Standing(enum.Enum):
    """Where a loader stands, and what its next `for` loop gives."""
    AT_EPOCH = "a whole epoch, for the loader was made or moved, or its last iterator has given no batch yet"
    AT_STATE = "the rest of an epoch, from the place of a state on"
    AT_STATES_END = "nothing, once: the state was saved with the last batch of its epoch, whose rest is asked for"
    GIVING = "the next epoch, for the loader's iterator has given a batch of this one"

    def to(self, other: "Standing") -> "Standing":
        """The other state. Raises RuntimeError where no loader may go there from this one."""
        if other not in _MAY[self]:
            raise RuntimeError(f"a loader must not go from {self.name} to {other.name}")
        return other


_MAY: dict[Standing, frozenset[Standing]] = {
    Standing.AT_EPOCH: frozenset((Standing.AT_EPOCH, Standing.AT_STATE, Standing.GIVING)),
    Standing.AT_STATE: frozenset((Standing.AT_EPOCH, Standing.AT_STATE, Standing.AT_STATES_END, Standing.GIVING)),
    Standing.AT_STATES_END: frozenset((Standing.AT_STATE, Standing.AT_STATES_END)),
    Standing.GIVING: frozenset((Standing.AT_EPOCH, Standing.AT_STATE, Standing.GIVING)),
}
