/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vgpu

#if !defined(VGPU_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define VGPU_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(vgpu_open,
	    TP_PROTO(u64 tenant, u32 kind, u32 index, int ret),
	    TP_ARGS(tenant, kind, index, ret),
	    TP_STRUCT__entry(__field(u64, tenant)
			     __field(u32, kind)
			     __field(u32, index)
			     __field(int, ret)),
	    TP_fast_assign(__entry->tenant = tenant;
			   __entry->kind = kind;
			   __entry->index = index;
			   __entry->ret = ret;),
	    TP_printk("tenant=%llu node=%s index=%u ret=%d", __entry->tenant,
		      __print_symbolic(__entry->kind, { 0, "ctl" }, { 1, "gpu" }, { 2, "uvm" }),
		      __entry->index, __entry->ret));

/* After the call. @kind, @index: the node; @inner: class of an allocation, command of a control. */
TRACE_EVENT(vgpu_ioctl,
	    TP_PROTO(u64 tenant, u32 kind, u32 index, u32 cmd, u32 inner, long ret, u64 ns),
	    TP_ARGS(tenant, kind, index, cmd, inner, ret, ns),
	    TP_STRUCT__entry(__field(u64, tenant)
			     __field(u32, kind)
			     __field(u32, index)
			     __field(u32, cmd)
			     __field(u32, inner)
			     __field(long, ret)
			     __field(u64, ns)),
	    TP_fast_assign(__entry->tenant = tenant;
			   __entry->kind = kind;
			   __entry->index = index;
			   __entry->cmd = cmd;
			   __entry->inner = inner;
			   __entry->ret = ret;
			   __entry->ns = ns;),
	    TP_printk("tenant=%llu node=%s index=%u cmd=0x%x inner=0x%x ret=%ld ns=%llu",
		      __entry->tenant,
		      __print_symbolic(__entry->kind, { 0, "ctl" }, { 1, "gpu" }, { 2, "uvm" }),
		      __entry->index, __entry->cmd, __entry->inner, __entry->ret, __entry->ns));

DECLARE_EVENT_CLASS(vgpu_bytes,
		    TP_PROTO(u64 tenant, u32 slice, u32 kind, u64 bytes, u64 current_bytes),
		    TP_ARGS(tenant, slice, kind, bytes, current_bytes),
		    TP_STRUCT__entry(__field(u64, tenant)
				     __field(u32, slice)
				     __field(u32, kind)
				     __field(u64, bytes)
				     __field(u64, current_bytes)),
		    TP_fast_assign(__entry->tenant = tenant;
				   __entry->slice = slice;
				   __entry->kind = kind;
				   __entry->bytes = bytes;
				   __entry->current_bytes = current_bytes;),
		    TP_printk("tenant=%llu slice=%u kind=%s bytes=%llu current=%llu",
			      __entry->tenant, __entry->slice,
			      __print_symbolic(__entry->kind, { 0, "buffers" },
					       { 1, "contexts" }, { 2, "managed" }),
			      __entry->bytes, __entry->current_bytes));

DEFINE_EVENT(vgpu_bytes, vgpu_charge,
	     TP_PROTO(u64 tenant, u32 slice, u32 kind, u64 bytes, u64 current_bytes),
	     TP_ARGS(tenant, slice, kind, bytes, current_bytes));

DEFINE_EVENT(vgpu_bytes, vgpu_uncharge,
	     TP_PROTO(u64 tenant, u32 slice, u32 kind, u64 bytes, u64 current_bytes),
	     TP_ARGS(tenant, slice, kind, bytes, current_bytes));

DEFINE_EVENT(vgpu_bytes, vgpu_refuse,
	     TP_PROTO(u64 tenant, u32 slice, u32 kind, u64 bytes, u64 current_bytes),
	     TP_ARGS(tenant, slice, kind, bytes, current_bytes));

#endif /* VGPU_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
