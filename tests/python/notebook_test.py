"""A notebook's kernel, with the real ipykernel: cells that are run again and again, fail, and show what they made."""
import os
import tempfile
import unittest
from pathlib import Path

from jupyter_client.manager import KernelManager

import spdld
from case import STEPS, WAIT_S, DaemonCase, spec_of

TIMES = 20
AT_ONCE = 4


class Kernel:
    """One kernel, over sockets in a folder of its own."""

    def __init__(self, folder, environment):
        environment = {**environment, "HOME": folder, "IPYTHONDIR": folder, "JUPYTER_RUNTIME_DIR": folder}
        self.manager = KernelManager(transport="ipc", ip=f"{folder}/k", connection_file=f"{folder}/kernel.json")
        self.manager.start_kernel(env=environment)
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def run(self, cell):
        """A cell's output, and its error's name ("" where there is none)."""
        output = []

        def note(message):
            content = message["content"]
            if message["msg_type"] == "stream" and content["name"] == "stdout":
                output.append(content["text"])
            if message["msg_type"] == "execute_result":
                output.append(content["data"]["text/plain"] + "\n")
        reply = self.client.execute_interactive(cell, timeout=60, output_hook=note)
        return "".join(output), reply["content"].get("ename", "")


class Notebook(DaemonCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="nb-")
        self.addCleanup(folder.cleanup)
        self.kernel = Kernel(folder.name, {**os.environ, "SPDLD_SOCKET": str(self.daemon.socket),
                                           "PYTHONPATH": os.pathsep.join([str(Path(spdld.__file__).parents[1]),
                                                                          os.environ.get("PYTHONPATH", "")])})
        self.addCleanup(self.kernel.close)
        self.run_cell(f"import spdld\nspec = {spec_of(self.pictures)!r}")

    def run_cell(self, cell, fails=""):
        output, error = self.kernel.run(cell)
        self.assertEqual(error, fails, output)
        return output

    def rings(self):
        """Of the kernel, that have memory."""
        described = spdld.query("describe", "small", socket=self.daemon.socket)
        return [ring for ring in described["rings"] if ring["pids"]]

    def test_a_cell_that_is_run_twenty_times(self):
        for _ in range(TIMES):
            output = self.run_cell(f"""
                loader = spdld.attach(spec, timeout={WAIT_S})
                images = [batch["image"].mean() for batch in loader]
                print(len(images))""".replace("\n" + 16 * " ", "\n"))
            self.assertEqual(output, f"{STEPS}\n")
        self.assertLessEqual(len(self.rings()), 2)

    def test_loaders_in_the_history_cost_nothing_and_can_be_used_again(self):
        for _ in range(TIMES):
            self.run_cell(f"loader = spdld.attach(spec, timeout={WAIT_S})\nnext(iter(loader))")
            self.run_cell("loader")  # Out has it from now on, and its first batch
        self.assertLessEqual(len(self.rings()), AT_ONCE)
        told = self.run_cell("kept = [made for made in Out.values() if isinstance(made, spdld.Loader)]\n"
                             "print(len(kept), {made.position for made in kept})\n"
                             "print([len([batch.step for batch in made]) for made in kept[:3]])")
        self.assertEqual(told, f"{TIMES} {{(0, 1)}}\n{[STEPS - 1] * 3}\n")

    def test_a_cell_that_fails_in_the_middle_of_an_epoch(self):
        cell = (f"def train(spec):\n    loader = spdld.attach(spec, timeout={WAIT_S})\n    for batch in loader:\n"
                "        image = batch['image']\n        raise RuntimeError('a mistake')\ntrain(spec)")
        for _ in range(TIMES):  # each traceback holds the frame before it
            self.run_cell(cell, fails="RuntimeError")
        self.assertLessEqual(len(self.rings()), AT_ONCE)
        self.assertEqual(self.run_cell("sum(1 for batch in spdld.attach(spec))"), f"{STEPS}\n")

    def test_a_list_of_a_small_epoch(self):
        self.assertEqual(self.run_cell("loader = spdld.attach(spec)\nlen(list(loader))"), f"{STEPS}\n")


if __name__ == "__main__":
    unittest.main()
