"""What the tests of spdld.torch share."""
import spdld.torch
from case import WAIT_S, DaemonCase


def ids(batches, count=None):
    """Of so many batches, or of all."""
    seen = []
    for batch in batches:
        seen.append(batch["sample_id"].tolist())
        if len(seen) == count:
            break
    return seen


class TorchCase(DaemonCase):
    def torch_loader(self, pipeline=None, **options):
        loader = spdld.torch.Loader(self.spec() if pipeline is None else pipeline, **{
            "socket": self.daemon.socket, "group": self.id(), "timeout": WAIT_S, **options})
        self.addCleanup(loader.close)
        return loader
