/* node_name.c - what the ranks of one node have in common: its name. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "node.h"

void hf_node_name(char name[HF_NODE_ROOM]) {
    memset(name, 0, HF_NODE_ROOM);
    gethostname(name, HF_NODE_ROOM / 2 - 1);
    size_t used = strlen(name);
    FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (boot && !fgets(name + used, (int)(HF_NODE_ROOM - used), boot))
        name[used] = '\0';
    if (boot)
        fclose(boot);
}
