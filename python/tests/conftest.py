"""What most tests begin with."""

import gpp
import pytest


@pytest.fixture(scope="module")
def cpu():
    return gpp.Calculator("cpu")


@pytest.fixture
def tiny():
    return gpp.system("tiny")
