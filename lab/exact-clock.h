/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included by arch/um/kernel/time.c of the laboratory's kernel (lab/build-kernel).
 *
 * In virtual time nothing that a program does takes time. A program that does the same again and again at one instant
 * until time has passed would do so for ever. So what is repeated there very often moves the clock.
 */

struct repeated {
	unsigned long long at;
	unsigned int times;
};

/* Moves the clock by 1 us after `most` times at one instant, and from then on after every `again` times. */
static void time_travel_repeated(struct repeated *repeated, unsigned int most, unsigned int again)
{
	if (repeated->at != time_travel_time)
		repeated->times = 0;
	if (++repeated->times > most) {
		time_travel_update_time_rel(1000);
		repeated->times -= again;
	}
	repeated->at = time_travel_time;
}

/* A look at the clock. Programs look often that do not wait for it: an hour is simulated at one instant. */
static void time_travel_look(void)
{
	static struct repeated looks;

	time_travel_repeated(&looks, 4194304, 1024);
}

/* A system call that fails: no such file, nothing there to be read. */
void time_travel_failure(void);
void time_travel_failure(void)
{
	static struct repeated failures;

	time_travel_repeated(&failures, 65536, 64);
}
