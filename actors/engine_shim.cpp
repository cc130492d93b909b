#include "actors/engine_shim.h"

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

using simgrid::kernel::timer::Timer;

ShimTimer *shim_timer_set(double date, void (*fn)(void *), void *data) {
    return reinterpret_cast<ShimTimer *>(Timer::set(date, [fn, data] { fn(data); }));
}

void shim_timer_cancel(ShimTimer *timer) {
    reinterpret_cast<Timer *>(timer)->remove();
}

sg_comm_t shim_send_begin(sg_host_t from, sg_host_t to, uint64_t bytes) {
    auto comm = simgrid::s4u::Comm::sendto_async(from, to, bytes);
    comm->add_ref(); // the caller's; sg_comm_wait drops it
    return comm.get();
}

double shim_comm_remaining(sg_comm_t comm) {
    return comm->get_remaining();
}

void shim_mailbox_set_receiver(sg_mailbox_t mailbox, sg_actor_t receiver) {
    mailbox->set_receiver(simgrid::s4u::ActorPtr(receiver));
}

void shim_on_deadlock(void (*fn)(void *), void *data) {
    simgrid::s4u::Engine::on_deadlock_cb([fn, data] { fn(data); });
}
