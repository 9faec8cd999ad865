# SPDX-License-Identifier: Apache-2.0
"""Ways to break the ledger, the book and the decoder; a replay must notice each."""

from dataclasses import dataclass
from pathlib import Path

LEDGER, BOOK, RANGE = (Path("kmod/core", name) for name in ("ledger.c", "book.c", "range.c"))
RM, ESCAPES, CLASSES = (
    Path("kmod/abi", name) for name in ("rm.c", "r535_escapes.c", "r535_classes.c")
)


@dataclass
class Mutant:
    file: Path
    right: str
    wrong: str


MUTANTS = {
    "limit compared by addition": Mutant(
        LEDGER,
        "if (bytes > vgpu_ledger_room(ledger)) {",
        "if (ledger->cur + bytes > ledger->max) {",
    ),
    "no limit": Mutant(
        LEDGER, "if (bytes > vgpu_ledger_room(ledger)) {", "if (bytes == ~(u64)0) {"
    ),
    "room wraps below use": Mutant(
        LEDGER,
        "return ledger->cur < ledger->max ? ledger->max - ledger->cur : 0;",
        "return ledger->max - ledger->cur;",
    ),
    "uncharge forgets the sum": Mutant(LEDGER, "\tledger->cur -= bytes;\n", ""),
    "shortfall not given back": Mutant(
        LEDGER, "return vgpu_ledger_uncharge(ledger, kind, charged - real);", "return 0;"
    ),
    "excess not booked": Mutant(
        LEDGER, "\tbook(ledger, kind, real - charged);\n\treturn 0;", "\treturn 0;"
    ),
    "first holder gives back": Mutant(BOOK, "if (--charge->refs)", "if (charge->refs-- > 2)"),
    "duplicates are not counted": Mutant(BOOK, "\tcharge->refs++;\n", ""),
    "settled size forgotten": Mutant(BOOK, "\t\tcharge->bytes = real;\n", "\t\t;\n"),
    "children survive": Mutant(
        BOOK, "while (obj->child)\n", "while (obj->child && obj->is_client)\n"
    ),
    "dependents survive": Mutant(BOOK, "if (who->link)", "if (0)"),
    "memory of USERD not held": Mutant(BOOK, "} else if (on->charge) {", "} else if (0) {"),
    "a closed file leaves its clients": Mutant(
        BOOK,
        "while (owner->clients)\n",
        "if (owner->clients)\n",
    ),
    "handles are looked up in any client": Mutant(
        BOOK,
        "while (obj && (obj->handle != handle || obj->client->root.handle != client))",
        "while (obj && obj->handle != handle)",
    ),
    "an older entry stays": Mutant(
        BOOK,
        "\t*gone = vgpu_book_remove(book, client, obj->handle);\n",
        "",
    ),
    "a client's older entry stays": Mutant(
        BOOK,
        "struct vgpu_object *gone = vgpu_book_remove(book, handle, handle);",
        "struct vgpu_object *gone = NULL;",
    ),
    "partly unmapped is unmapped": Mutant(
        RANGE, "if (node->length - 1 > last - node->base || ", "if ("
    ),
    "unmapped from every GPU": Mutant(RANGE, "(tag && node->tag != tag)", "0"),
    "virtual ranges are memory": Mutant(RM, "if (flags & ALLOC_FLAGS_VIRTUAL) {", "if (0) {"),
    "host memory is device memory": Mutant(
        RM, "} else if (ATTR_LOCATION(attr) != ATTR_LOCATION_VIDMEM) {", "} else if (0) {"
    ),
    "RM_ALLOC takes no memory": Mutant(
        RM,
        "\tcase VGPU_CLASS_VIDMEM:\n\t\ttake_buffer(",
        "\tcase VGPU_CLASS_VIDMEM:\n\t\tif (0)\n\t\t\ttake_buffer(",
    ),
    "handle of the request, not of the reply": Mutant(
        RM,
        "result->object = value(row, VGPU_F_OBJECT, buf, len);",
        "result->object = req->object;",
    ),
    "the reply is believed": Mutant(
        RM, "round_up(given > req->asked ? given : req->asked, PAGE_4K)", "round_up(given, PAGE_4K)"
    ),
    "rounding wraps": Mutant(
        RM,
        "return bytes > ~(u64)0 - (page - 1) ? ~(u64)0 : (bytes + page - 1) & ~(page - 1);",
        "return (bytes + page - 1) & ~(page - 1);",
    ),
    "status of the short RM_ALLOC elsewhere": Mutant(
        ESCAPES,
        "FIELD(STATUS, 28, 4),\n};\n\n/* src/common/sdk/nvidia/inc/nvos.h: NVOS64",
        "FIELD(STATUS, 24, 4),\n};\n\n/* src/common/sdk/nvidia/inc/nvos.h: NVOS64",
    ),
    "status of VID_HEAP_CONTROL ignored": Mutant(
        ESCAPES, "FIELD(CMD, 8, 4),\n\tFIELD(STATUS, 20, 4),", "FIELD(CMD, 8, 4),"
    ),
    "size of memory elsewhere": Mutant(CLASSES, "FIELD(SIZE, 64, 8)", "FIELD(SIZE, 72, 8)"),
    "the VA space of a channel elsewhere": Mutant(
        CLASSES, "FIELD(DEP, 24, 4),\n\tFIELD(DEP, 28, 4),", "FIELD(DEP, 24, 4),"
    ),
    "memory by physical address allowed": Mutant(
        CLASSES,
        "PRIVILEGED(0x00c2, 24, NV01_MEMORY_LOCAL_PHYSICAL)",
        "ROW0(0x00c2, 24, CLASS_SYSMEM, ANY, NV01_MEMORY_LOCAL_PHYSICAL)",
    ),
}
