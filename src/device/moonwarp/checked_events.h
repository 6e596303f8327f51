/* Reports to a checked run (mw.check) about the accesses that follow: events of mw_check_event (mwo.h). Calls are
 * deleted from code that is not checked. */
#ifndef MOONWARP_CHECKED_EVENTS_H
#define MOONWARP_CHECKED_EVENTS_H

#ifdef __MW_NVRTC__
#define __mw_report(event, value)
#else
__mw_import void __mw_check_event(unsigned int event, unsigned long long value);
#define __mw_report(event, value) __mw_check_event(event, value)
#endif
#define __mw_report_atomic(what) __mw_report(2, what) /* of the next atomic access; 4: for the block only */
#define __mw_report_async(is_on) __mw_report(3, is_on)
#define __mw_report_commit()     __mw_report(4, 0)
#define __mw_report_wait(prior)  __mw_report(5, prior)
#define __mw_report_track(word)  __mw_report(6, (unsigned long long)(word))

#endif
