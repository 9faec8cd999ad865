# SPDX-License-Identifier: Apache-2.0
"""What the tests of kmod/core and kmod/abi share: the caller that the module is to the C."""
