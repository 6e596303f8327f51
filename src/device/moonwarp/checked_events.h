/* Reports to a checked run (mw.check) about the accesses that follow: events of mw_check_event (mwo.h). Calls are
 * deleted from code that is not checked. */
#ifndef MOONWARP_CHECKED_EVENTS_H
#define MOONWARP_CHECKED_EVENTS_H

#if defined(__MW_NVRTC__) || defined(__MW_NVPTX__)
#define __mw_tell(event, value)
#else
__mw_import void __mw_check_event(unsigned int event, unsigned long long value);
#define __mw_tell(event, value) __mw_check_event(event, value)
#endif
#define __mw_tell_atomic(what) __mw_tell(2, what) /* of the next atomic access; 4: for the block only */
#define __mw_tell_async(is_on) __mw_tell(3, is_on)
#define __mw_tell_commit()     __mw_tell(4, 0)
#define __mw_tell_wait(prior)  __mw_tell(5, prior)
#define __mw_tell_track(word)  __mw_tell(6, (unsigned long long)(word))

#endif
