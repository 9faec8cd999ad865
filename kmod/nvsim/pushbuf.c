// SPDX-License-Identifier: GPL-2.0-only
/* Push buffers: what channels are told to do. */
#include "nvsim.h"
