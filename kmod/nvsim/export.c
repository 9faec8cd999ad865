// SPDX-License-Identifier: GPL-2.0-only
/* Memory objects handed on inside an open nvidiactl file (OS_UNIX controls, F1 on the file). */
#include <linux/file.h>

#include "control.h"
#include "escape.h"
#include "export.h"
#include "object.h"

#define NVSIM_EXPORT_TYPE_RM	1

/* object {type@0 hDevice@4 hParent@8 hObject@12}, fd@16, flags@20. */
u32 nvsim_export_to_fd(struct nvsim_control_call *call)
{
	struct nvsim_object *obj;
	struct nvsim_file *target;
	struct file *filp;
	u32 status = NV_OK;

	if (nvsim_get32(call, 0) != NVSIM_EXPORT_TYPE_RM)
		return NV_ERR_INVALID_ARGUMENT;
	obj = nvsim_object_find(call->obj->client, nvsim_get32(call, 12));
	if (!obj)
		return NV_ERR_OBJECT_NOT_FOUND;
	if (!obj->mem || obj->mem->where == NVSIM_MEM_USER)
		return NV_ERR_NOT_SUPPORTED;

	filp = nvsim_fget(nvsim_get32(call, 16), true);
	if (!filp)
		return NV_ERR_INVALID_ARGUMENT;
	target = nvsim_file(filp);
	if (target->exported) {
		status = NV_ERR_STATE_IN_USE;
	} else {
		nvsim_mem_get(obj->mem);
		target->exported = obj->mem;
		target->exported_class = obj->class;
	}
	fput(filp);
	return status;
}

/* fd@0, object {type@4 hDevice@8 hParent@12 hObject@16}. */
u32 nvsim_import_from_fd(struct nvsim_control_call *call)
{
	u32 handle = nvsim_get32(call, 16);
	struct nvsim_file *source;
	struct file *filp;
	u32 status;

	filp = nvsim_fget(nvsim_get32(call, 0), true);
	if (!filp)
		return NV_ERR_INVALID_ARGUMENT;
	source = nvsim_file(filp);
	if (source->exported)
		status = nvsim_object_from_mem(call->obj->client, nvsim_get32(call, 12), &handle,
					       source->exported_class, source->exported);
	else
		status = NV_ERR_INVALID_ARGUMENT;
	fput(filp);
	if (status == NV_OK) {
		nvsim_put32(call, 4, NVSIM_EXPORT_TYPE_RM);
		nvsim_put32(call, 16, handle);
	}
	return status;
}

/* fd@0, deviceInstance@4, maxObjects@8/2, metadata[64]@10. */
u32 nvsim_export_info(struct nvsim_control_call *call)
{
	struct nvsim_file *source;
	struct file *filp;
	u32 status = NV_OK;

	filp = nvsim_fget(nvsim_get32(call, 0), true);
	if (!filp)
		return NV_ERR_INVALID_ARGUMENT;
	source = nvsim_file(filp);
	memset(call->params + 4, 0, call->params_size - 4);
	if (source->exported)
		nvsim_put32(call, 4, source->exported->gpu->index);
	else
		status = NV_ERR_INVALID_ARGUMENT;
	fput(filp);
	return status;
}
