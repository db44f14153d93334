/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included by arch/um/kernel/skas/syscall.c of the laboratory's kernel (lab/build-kernel).
 *
 * Processors take no time in virtual time. Here a system call may have a price: a task of the class SCHED_BATCH
 * sleeps for it at the end of the call. A task that sleeps holds up no other task, so each has a processor of its own.
 * Servers of drives are of another class and pay nothing.
 *
 * Each parameter is a file in /sys/module/lab/parameters. All prices are 0 unless they are written there.
 */
#include <linux/hrtimer.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "lab."

/* Nanoseconds of a system call: the kernel's part. */
static ulong call_ns;
/* Nanoseconds that a program computes, on average, before its next system call. */
static ulong user_ns;
/* Nanoseconds of a page of 4 KiB that a system call copies. */
static ulong page_ns;
/* System calls, pages and nanoseconds that were paid since they were last written. */
static ulong calls, pages, paid_ns;

module_param(call_ns, ulong, 0644);
module_param(user_ns, ulong, 0644);
module_param(page_ns, ulong, 0644);
module_param(calls, ulong, 0644);
module_param(pages, ulong, 0644);
module_param(paid_ns, ulong, 0644);

/* Pages that a system call with this result has copied between a program and the kernel. */
static unsigned long pages_copied(int syscall, unsigned long result)
{
	switch (syscall) {
	case __NR_read:
	case __NR_write:
	case __NR_pread64:
	case __NR_pwrite64:
	case __NR_readv:
	case __NR_writev:
	case __NR_preadv:
	case __NR_pwritev:
	case __NR_preadv2:
	case __NR_pwritev2:
	case __NR_sendto:
	case __NR_recvfrom:
	case __NR_sendfile:
	case __NR_copy_file_range:
		return IS_ERR_VALUE(result) ? 0 : DIV_ROUND_UP(result, PAGE_SIZE);
	default:
		return 0;
	}
}

static void processor_pay(int syscall, unsigned long result)
{
	unsigned long copied, ns;
	ktime_t span;

	if (current->policy != SCHED_BATCH)
		return;
	copied = pages_copied(syscall, result);
	ns = call_ns + user_ns + copied * page_ns;
	calls++;
	pages += copied;
	paid_ns += ns;
	if (!ns)
		return;
	span = ns_to_ktime(ns);
	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule_hrtimeout_range(&span, 0, HRTIMER_MODE_REL);
}
