//! Numbered work on several threads: the one place where runs, histories and drives are processed
//! in parallel.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Number of processors of this machine; 1 if unknown.
#[must_use]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Does `work` for every number below `count` on up to `threads` threads. `take` gets each result
/// with its number, on the calling thread, in the order of completion. No number begins after
/// `take` has failed. Results of numbers that had begun are still passed to `take`.
///
/// With one thread, the work is done on the calling thread. The allocator keeps freed memory for
/// the thread that freed it, and such memory stays unused after that thread ends.
///
/// # Errors
///
/// The first error of `take`.
pub fn each_side_by_side<T: Send, E>(
    threads: usize,
    count: usize,
    work: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = threads.min(count);
    if threads <= 1 {
        return (0..count).try_for_each(|number| take(number, work(number)));
    }
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    // Each thread adds once beyond the end, so the number does not wrap.
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count || sender.send((number, work(number))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut ended = Ok(());
        for (number, result) in receiver {
            let taken = take(number, result);
            if taken.is_err() {
                next.store(count, Ordering::Relaxed);
            }
            ended = ended.and(taken);
        }
        ended
    })
}

/// Does `work` for every number below `count` on up to `threads` threads. Returns the results in
/// the order of their numbers.
pub fn side_by_side<T: Send>(
    threads: usize,
    count: usize,
    work: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let mut results: Vec<(usize, T)> = Vec::with_capacity(count);
    let Ok(()) = each_side_by_side(threads, count, work, |number, result| {
        results.push((number, result));
        Ok::<(), Infallible>(())
    });
    results.sort_unstable_by_key(|&(number, _)| number);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn results_are_in_the_order_of_their_numbers() {
        for threads in [0, 1, 2, 7] {
            assert_eq!(side_by_side(threads, 5, |number| number * number), [0, 1, 4, 9, 16]);
            assert_eq!(side_by_side(threads, 0, |number| number).len(), 0);
        }
    }

    #[test]
    fn two_threads_work_at_the_same_time() {
        let both = Barrier::new(2);
        side_by_side(2, 2, |_| both.wait());
    }

    #[test]
    fn nothing_begins_after_a_result_was_refused() {
        for threads in [1, 3] {
            let begun = AtomicUsize::new(0);
            let work = |number| {
                begun.fetch_add(1, Ordering::Relaxed);
                number
            };
            let ended = each_side_by_side(threads, 1_000_000, work, |number, _| match number {
                7 => Err(number),
                _ => Ok(()),
            });
            assert_eq!(ended, Err(7));
            assert!(begun.into_inner() < 1_000_000, "{threads} threads");
        }
    }

    #[test]
    fn what_had_begun_is_handed_over() {
        for threads in [1, 2, 5] {
            let begun = AtomicUsize::new(0);
            let work = |_| begun.fetch_add(1, Ordering::Relaxed);
            let mut taken = 0;
            let ended = each_side_by_side(threads, 1_000_000, work, |_, _| {
                taken += 1;
                if taken >= 3 { Err(()) } else { Ok(()) }
            });
            assert_eq!(ended, Err(()));
            assert_eq!(taken, begun.into_inner(), "{threads} threads");
        }
    }
}
