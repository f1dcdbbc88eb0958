/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Prints every loaded BPF program whose name begins with lh_, and how many
 * instructions the verifier walked through for it (of 1,000,000 at the most).
 */
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(__NR_bpf, cmd, attr, sizeof(*attr));
}

int main(void)
{
	__u32 id = 0;

	for (;;) {
		struct bpf_prog_info info = {0};
		union bpf_attr attr = {0};
		int fd;

		attr.start_id = id;
		if (bpf(BPF_PROG_GET_NEXT_ID, &attr))
			return 0;
		id = attr.next_id;
		memset(&attr, 0, sizeof(attr));
		attr.prog_id = id;
		fd = bpf(BPF_PROG_GET_FD_BY_ID, &attr);
		if (fd < 0)
			continue;
		memset(&attr, 0, sizeof(attr));
		attr.info.bpf_fd = fd;
		attr.info.info_len = sizeof(info);
		attr.info.info = (unsigned long)&info;
		if (!bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) && !strncmp(info.name, "lh_", 3))
			printf("%s %u\n", info.name, info.verified_insns);
		close(fd);
	}
}
