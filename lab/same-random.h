/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included by drivers/char/random.c of the laboratory's kernel (lab/build-kernel).
 *
 * Random numbers are the same in each run: keys of the generator are 1, 2, 3 and so on instead of what a machine
 * collects. Programs draw names of temporary files from them, and XFS and ext4 decide by them.
 */
static void same_key(u8 *key)
{
	static u8 keys;

	memset(key, ++keys, CHACHA_KEY_SIZE);
}
