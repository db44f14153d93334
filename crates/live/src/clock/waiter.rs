//! Waiting for descriptors and for exact moments of the real clock, without burning a core.
//!
//! A kernel wakes a thread some ten to thirty microseconds after the moment that was asked for, and
//! by default another fifty later, which is its timer slack. Emulated drives answer reads in a
//! hundred. A [`Waiter`] therefore sleeps until shortly before the moment and spins for the rest,
//! and meanwhile watches file descriptors; see [`Spin`] for how long it spins. It blocks without
//! spinning if nobody waits for an exact moment, and always with [`Spin::Never`].

use rustix::event::{PollFd, PollFlags, epoll};
use rustix::io::Errno;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use units::{Duration, Instant};

/// Monotonic time since the clock was made.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: std::time::Instant,
}

impl Clock {
    /// A clock that shows zero now.
    #[must_use]
    pub fn new() -> Self {
        Self { start: std::time::Instant::now() }
    }

    /// The time. 2^64 nanoseconds are 584 years.
    #[must_use]
    pub fn now(&self) -> Instant {
        Instant::from_nanos(self.start.elapsed().as_nanos() as u64)
    }

    /// What this clock shows when another shows `there`; zero if it was made later than that.
    #[must_use]
    pub fn at(&self, other: &Self, there: Instant) -> Instant {
        let ahead = other.start.saturating_duration_since(self.start).as_nanos() as u64;
        let behind = self.start.saturating_duration_since(other.start).as_nanos() as u64;
        Instant::from_nanos(there.as_nanos().saturating_add(ahead).saturating_sub(behind))
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

/// Processor time that the calling thread has used so far.
#[must_use]
pub fn processor_time() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Duration::from_nanos(used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64)
}

/// How long before a moment a [`Waiter`] wakes up to spin for the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Spin {
    /// As long as wake-ups of the last time suggest, between [`LEAST_MARGIN`] and
    /// [`LARGEST_MARGIN`]: nineteen of twenty sleeps are to end in time.
    ///
    /// `ioda bench timer` compares this with fixed margins. On a shared virtual machine of two
    /// cores with three threads that want them, one moment every 150 us was met as well as by 60 us
    /// of spinning (half of them exactly, 99 of 100 within 28 us), for 23 to 29 % of a core instead
    /// of 33 to 35 %; sleeping alone was 27 to 40 us late for 11 to 15 %. On a quiet machine the
    /// margin and the cost shrink; 20 us would have been too few here.
    #[default]
    Adaptive,
    /// Always so long. Zero never spins, which is right where cores are few.
    Fixed(Duration),
    /// Never: blocks on a timer of the kernel, which has no slack. Where time is virtual, a moment
    /// is met to the nanosecond so, and time goes on only because all threads block.
    Never,
}

/// Least time for which [`Spin::Adaptive`] spins.
pub const LEAST_MARGIN: Duration = Duration::from_micros(5);
/// Longest time for which [`Spin::Adaptive`] spins. It bounds what waiting burns: at one exact
/// moment every 150 us at most two thirds of a core, on a machine that wakes threads that late.
pub const LARGEST_MARGIN: Duration = Duration::from_micros(100);
/// Where [`Spin::Adaptive`] starts: most sleeps of an undisturbed machine end 15 to 30 us late.
const FIRST_MARGIN: Duration = Duration::from_micros(40);
/// The margin shrinks by this after a sleep that ended in time and grows by nineteen times as much
/// after one that did not. It so comes to rest where one sleep of twenty is late, and a stall of
/// many milliseconds moves it no further than any other late wake-up.
const SHRINK_NANOSECONDS: u64 = 100;
const GROW_NANOSECONDS: u64 = 19 * SHRINK_NANOSECONDS;
/// So shortly before the moment only the clock is read: to poll the descriptors takes up to a
/// microsecond, by which the waiter would be late.
const CLOCK_ONLY: Duration = Duration::from_nanos(1_500);
/// Longest sleep in one piece; the time of a sleep is far below what a kernel refuses.
const LONGEST_SLEEP: Duration = Duration::from_secs(3_600);
/// Descriptors that one poll reports at most; the others are reported by the next.
const EVENTS: usize = 256;
/// Token of the waiter's own timer, which nobody else may use.
const TIMER: u64 = u64::MAX;

/// What a descriptor is watched for. Errors and hang-ups are reported in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Interest {
    /// Whether it can be read.
    pub readable: bool,
    /// Whether it can be written.
    pub writable: bool,
}

impl Interest {
    /// Whether it can be read.
    pub const READ: Self = Self { readable: true, writable: false };
    /// Whether it can be written.
    pub const WRITE: Self = Self { readable: false, writable: true };
    /// Both.
    pub const BOTH: Self = Self { readable: true, writable: true };

    pub(super) fn flags(self) -> epoll::EventFlags {
        let mut flags = epoll::EventFlags::empty();
        flags.set(epoll::EventFlags::IN, self.readable);
        flags.set(epoll::EventFlags::OUT, self.writable);
        flags
    }
}

/// What a descriptor is ready for. It is reported again and again until that is done
/// (level-triggered).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Under which the descriptor was added.
    pub token: u64,
    /// It can be read, be it only the end of the file.
    pub readable: bool,
    /// It can be written.
    pub writable: bool,
    /// Both sides have closed it, or it has an error: reading or writing says which.
    pub hung_up: bool,
}

impl Event {
    /// What an epoll reports.
    pub(super) fn of(event: &epoll::Event) -> Self {
        let (flags, data) = (event.flags, event.data);
        Self {
            token: data.u64(),
            readable: flags.contains(epoll::EventFlags::IN),
            writable: flags.contains(epoll::EventFlags::OUT),
            hung_up: flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::ERR),
        }
    }
}

/// Waits for descriptors and for moments of a [`Clock`].
pub struct Waiter {
    epoll: OwnedFd,
    spin: Spin,
    margin: Duration,
    /// Only with [`Spin::Never`].
    timer: Option<OwnedFd>,
    ready: Vec<epoll::Event>,
}

impl Waiter {
    /// A waiter for the calling thread, whose timer slack becomes 1 ns: make it where it is used.
    ///
    /// # Errors
    ///
    /// If the system has no file descriptor left.
    pub fn new(spin: Spin) -> std::io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        // Where that is forbidden wake-ups are 50 us later, which is no reason not to run.
        if let Err(error) = rustix::thread::set_current_timer_slack(NonZeroU64::new(1)) {
            tracing::warn!(%error, "timer slack cannot be set: answers will be less punctual");
        }
        let margin = match spin {
            Spin::Adaptive => FIRST_MARGIN,
            Spin::Fixed(margin) => margin,
            Spin::Never => Duration::ZERO,
        };
        let timer = match spin {
            Spin::Never => {
                let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
                let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
                let data = epoll::EventData::new_u64(TIMER);
                epoll::add(&epoll, &timer, data, epoll::EventFlags::IN)?;
                Some(timer)
            }
            Spin::Adaptive | Spin::Fixed(_) => None,
        };
        Ok(Self { epoll, spin, margin, timer, ready: Vec::with_capacity(EVENTS) })
    }

    /// Whether it may keep a core busy while it waits.
    #[must_use]
    pub fn spins(&self) -> bool {
        self.spin != Spin::Never
    }

    /// Watches `descriptor` and reports it as `token`, which is any but [`u64::MAX`]. It may be
    /// closed without being removed.
    ///
    /// # Errors
    ///
    /// If it is watched already or cannot be (a regular file is always ready), or the system
    /// allows no more.
    pub fn add(
        &mut self,
        descriptor: impl AsFd,
        token: u64,
        interest: Interest,
    ) -> std::io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::add(&self.epoll, descriptor, data, interest.flags())?)
    }

    /// Changes what a descriptor is watched for, and its token.
    ///
    /// # Errors
    ///
    /// If it is not watched.
    pub fn change(
        &mut self,
        descriptor: impl AsFd,
        token: u64,
        interest: Interest,
    ) -> std::io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::modify(&self.epoll, descriptor, data, interest.flags())?)
    }

    /// Watches `descriptor` no longer.
    ///
    /// # Errors
    ///
    /// If it was not watched.
    pub fn remove(&mut self, descriptor: impl AsFd) -> std::io::Result<()> {
        Ok(epoll::delete(&self.epoll, descriptor)?)
    }

    /// How long before an exact moment the waiter wakes up at present.
    #[must_use]
    pub fn margin(&self) -> Duration {
        self.margin
    }

    /// Waits until a descriptor is ready or `due` has come ([`Instant::NEVER`]: for a descriptor
    /// only), and says what time it is then. `events` is emptied and filled with what is ready;
    /// if it is empty, `due` has come. Where `due` is past, the descriptors are polled once.
    ///
    /// Spins shortly before `due` if it is to be met `exact`ly; otherwise the thread comes back
    /// when the kernel wakes it, some tens of microseconds late.
    ///
    /// # Errors
    ///
    /// If the kernel refuses, which no use of this type makes it do.
    pub fn wait(
        &mut self,
        clock: &Clock,
        due: Instant,
        exact: bool,
        events: &mut Vec<Event>,
    ) -> std::io::Result<Instant> {
        events.clear();
        let wake = match exact && due != Instant::NEVER {
            true => Instant::from_nanos(due.as_nanos().saturating_sub(self.margin.as_nanos())),
            false => due,
        };
        let mut now = clock.now();
        while now < wake {
            let longest = (wake != Instant::NEVER).then(|| wake.since(now));
            self.sleep(longest, events)?;
            now = clock.now();
            if !events.is_empty() {
                return Ok(now);
            }
            if exact && now >= wake {
                self.adapt_margin(now.since(wake));
            }
        }
        loop {
            if due.as_nanos() > now.as_nanos() + CLOCK_ONLY.as_nanos() || now >= due {
                self.poll_ready(events)?;
                now = clock.now();
                // The last poll reports what it found.
                if !events.is_empty() || now >= due {
                    return Ok(now);
                }
            } else {
                std::hint::spin_loop();
                now = clock.now();
                if now >= due {
                    return Ok(now);
                }
            }
        }
    }

    /// Busy polls: asks for ready descriptors again and again, without sleeping, until there is one
    /// or `until` has come.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn busy_poll(
        &mut self,
        clock: &Clock,
        until: Instant,
        events: &mut Vec<Event>,
    ) -> std::io::Result<()> {
        events.clear();
        while events.is_empty() && clock.now() < until {
            self.poll_ready(events)?;
        }
        Ok(())
    }

    /// Sleeps for so long, without end if nothing is said, or until a descriptor is ready.
    ///
    /// `epoll_wait` counts in milliseconds and `epoll_pwait2` needs Linux 5.11; `ppoll` of the
    /// epoll descriptor is as exact and everywhere, for a third of a microsecond more.
    fn sleep(&mut self, longest: Option<Duration>, events: &mut Vec<Event>) -> std::io::Result<()> {
        let longest = longest.map(|longest| timespec(longest.min(LONGEST_SLEEP)));
        // `ppoll` has a slack of a thousandth of the time that it waits, which a timer has not.
        let longest = match (&self.timer, longest) {
            (Some(timer), length) => {
                let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
                // A length of zero turns it off, and is none that is waited for.
                let it_value = length.unwrap_or(it_interval);
                let value = Itimerspec { it_interval, it_value };
                timerfd_settime(timer, TimerfdTimerFlags::empty(), &value)?;
                None
            }
            (None, longest) => longest,
        };
        let mut epoll = [PollFd::new(&self.epoll, PollFlags::IN)];
        match rustix::event::poll(&mut epoll, longest.as_ref()) {
            // The caller reads the clock and goes on waiting.
            Ok(0) | Err(Errno::INTR) => Ok(()),
            Ok(_) => self.poll_ready(events),
            Err(error) => Err(error.into()),
        }
    }

    /// Polls the descriptors without waiting.
    fn poll_ready(&mut self, events: &mut Vec<Event>) -> std::io::Result<()> {
        const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
        self.ready.clear();
        let room = rustix::buffer::spare_capacity(&mut self.ready);
        match epoll::wait(&self.epoll, room, Some(&AT_ONCE)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &self.ready {
            if let Some(timer) = self.timer.as_ref().filter(|_| event.data.u64() == TIMER) {
                // Readable until it is read; that it has been read already does no harm.
                let _ = rustix::io::read(timer, &mut [0; 8]);
                continue;
            }
            events.push(Event::of(event));
        }
        Ok(())
    }

    /// Adapts the margin to a sleep that has ended so late.
    fn adapt_margin(&mut self, late: Duration) {
        if self.spin != Spin::Adaptive {
            return;
        }
        let margin = self.margin.as_nanos();
        let margin = match late > self.margin {
            true => margin + GROW_NANOSECONDS,
            false => margin.saturating_sub(SHRINK_NANOSECONDS),
        };
        let margin = margin.clamp(LEAST_MARGIN.as_nanos(), LARGEST_MARGIN.as_nanos());
        self.margin = Duration::from_nanos(margin);
    }
}

impl std::fmt::Debug for Waiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Waiter({:?}, margin {:?})", self.spin, self.margin)
    }
}

fn timespec(duration: Duration) -> Timespec {
    let nanoseconds = duration.as_nanos();
    Timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as i64,
        tv_nsec: (nanoseconds % 1_000_000_000) as i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};

    fn eventfd_for_test() -> OwnedFd {
        eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap()
    }

    fn signal(wake: &OwnedFd) {
        rustix::io::write(wake, &1u64.to_ne_bytes()).unwrap();
    }

    #[test]
    fn nobody_comes_back_too_early() {
        let clock = Clock::new();
        let mut events = Vec::new();
        for spin in
            [Spin::Adaptive, Spin::Never, Spin::Fixed(Duration::ZERO), Spin::Fixed(Duration::MAX)]
        {
            let mut waiter = Waiter::new(spin).unwrap();
            for exact in [false, true] {
                for after in [0, 700, 20_000, 130_000, 1_700_000] {
                    let due = Instant::from_nanos(clock.now().as_nanos() + after);
                    let said = waiter.wait(&clock, due, exact, &mut events).unwrap();
                    assert!(events.is_empty() && said >= due, "{spin:?} {exact} {after}");
                    assert!(clock.now() >= said);
                }
            }
        }
    }

    #[test]
    fn a_ready_descriptor_ends_every_wait() {
        let clock = Clock::new();
        let mut events = Vec::new();
        let mut waiter = Waiter::new(Spin::Adaptive).unwrap();
        let wake = eventfd_for_test();
        waiter.add(&wake, 7, Interest::READ).unwrap();
        assert!(waiter.add(&wake, 7, Interest::READ).is_err(), "twice");
        signal(&wake);
        let expected = Event { token: 7, readable: true, writable: false, hung_up: false };
        let hour = 3_600_000_000_000;
        for (due, exact) in [
            (0, false),
            (0, true),
            (hour, false),
            (hour, true),
            (u64::MAX, false),
            (u64::MAX, true),
        ] {
            waiter.wait(&clock, Instant::from_nanos(due), exact, &mut events).unwrap();
            assert_eq!(events, [expected], "due {due}");
        }
        // While it spins, too.
        let mut spinner = Waiter::new(Spin::Fixed(Duration::MAX)).unwrap();
        spinner.add(&wake, 8, Interest::READ).unwrap();
        spinner.wait(&clock, Instant::from_nanos(hour), true, &mut events).unwrap();
        assert_eq!(events, [Event { token: 8, ..expected }]);
    }

    #[test]
    fn an_eventfd_from_another_thread_wakes_a_waiter_that_waits_for_nothing_else() {
        let clock = Clock::new();
        let wake = eventfd_for_test();
        let mut waiter = Waiter::new(Spin::Adaptive).unwrap();
        waiter.add(&wake, 1, Interest::READ).unwrap();
        let mut events = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(20));
                signal(&wake);
            });
            let used = processor_time();
            waiter.wait(&clock, Instant::NEVER, true, &mut events).unwrap();
            // Processor time, not wall time: a busy machine does not lengthen it.
            let used = processor_time().saturating_sub(used);
            assert!(used < Duration::from_millis(15), "burned {used:?} while idle");
        });
        assert_eq!(events.len(), 1);
    }

    #[test]
    fn interest_can_change_and_end_and_a_hang_up_is_told() {
        let clock = Clock::new();
        let now = Instant::ZERO;
        let mut events = Vec::new();
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut waiter = Waiter::new(Spin::Adaptive).unwrap();
        waiter.add(&ours, 3, Interest::READ).unwrap();
        waiter.wait(&clock, now, false, &mut events).unwrap();
        assert!(events.is_empty(), "nothing to read: {events:?}");
        waiter.change(&ours, 4, Interest::BOTH).unwrap();
        waiter.wait(&clock, now, false, &mut events).unwrap();
        assert_eq!(events, [Event { token: 4, readable: false, writable: true, hung_up: false }]);
        waiter.change(&ours, 4, Interest::default()).unwrap();
        waiter.wait(&clock, now, false, &mut events).unwrap();
        assert!(events.is_empty(), "of no interest: {events:?}");
        drop(theirs);
        waiter.wait(&clock, now, false, &mut events).unwrap();
        assert!(events.len() == 1 && events[0].hung_up, "{events:?}");
        waiter.remove(&ours).unwrap();
        assert!(waiter.remove(&ours).is_err());
        waiter.wait(&clock, now, false, &mut events).unwrap();
        assert!(events.is_empty());
    }

    #[test]
    fn the_margin_follows_late_wake_ups_and_stays_within_bounds() {
        let mut waiter = Waiter::new(Spin::Adaptive).unwrap();
        for _ in 0..10_000 {
            waiter.adapt_margin(Duration::from_micros(1));
        }
        assert_eq!(waiter.margin(), LEAST_MARGIN);
        // Sleeps that are all 30 us late: the margin comes to rest just above.
        for _ in 0..1_000 {
            waiter.adapt_margin(Duration::from_micros(30));
        }
        let margin = waiter.margin().as_nanos();
        assert!((29_000..33_000).contains(&margin), "{margin}");
        // A single stall hardly moves it, stalls without end move it to the bound.
        waiter.adapt_margin(Duration::from_millis(50));
        assert!(waiter.margin().as_nanos() < margin + 2_000);
        for _ in 0..1_000 {
            waiter.adapt_margin(Duration::from_millis(50));
        }
        assert_eq!(waiter.margin(), LARGEST_MARGIN);
        let mut fixed = Waiter::new(Spin::Fixed(Duration::from_micros(60))).unwrap();
        fixed.adapt_margin(Duration::from_millis(1));
        assert_eq!(fixed.margin(), Duration::from_micros(60));
    }
}
