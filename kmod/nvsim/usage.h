/* SPDX-License-Identifier: GPL-2.0-only */
/* How busy a GPU was lately, and who made it so. */
#ifndef NVSIM_USAGE_H
#define NVSIM_USAGE_H

#include "nvsim.h"

#define NVSIM_USAGE_BUCKETS	72		/* samples of GPUMON_PERFMON_UTIL_SAMPLES */
#define NVSIM_USAGE_BUCKET_NS	(125 * NSEC_PER_MSEC)

struct nvsim_usage_sample {
	u64 start_ns;			/* ktime_get_ns() of its beginning */
	u64 busy_ns;			/* of NVSIM_USAGE_BUCKET_NS */
	struct pid *pid;		/* last process busy in it, one reference, or NULL */
};

/* Copies the samples, oldest first; pid references are the caller's to put. */
void nvsim_usage_samples(struct nvsim_gpu *gpu, struct nvsim_usage_sample *samples);
/* Busy part of the last second, in percent. */
unsigned int nvsim_usage_percent(struct nvsim_gpu *gpu);

void nvsim_usage_exit(struct nvsim_gpu *gpu);

#endif
