#include "platforms/topology.h"
#include "platforms/network.h"
#include <algorithm>
#include <exception>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace {

namespace routing = simgrid::kernel::routing;
namespace s4u = simgrid::s4u;

using LinkImpl = simgrid::kernel::resource::StandardLinkImpl;

/* A zone that looks routes up in network.h. Flat: no routers and no zones inside, so the id of a
 * net point is the number of its cluster. One host more stands for the GSM of whichever cluster is
 * at the other end; the links are each cluster's own. SimGrid owns the zone, through the engine,
 * once it exists. */
class TableZone : public routing::NetZoneImpl {
  public:
    explicit TableZone(const Platform *platform) : NetZoneImpl("machine"), platform_(platform) {
    }

    void build(double macs_per_s) {
        add_hosts(macs_per_s);
        add_links();
        get_iface()->seal();
    }

    s4u::Host *host(guint cluster) const {
        return hosts_.at(cluster);
    }

    s4u::Host *gsm_host() const {
        return gsm_host_;
    }

    void get_local_route(const routing::NetPoint *from, const routing::NetPoint *to,
                         routing::Route *into, double *) override {
        const unsigned long gsm = gsm_host_->get_netpoint()->id();
        if (from->id() == gsm || to->id() == gsm) {
            into->link_list_.push_back(gsm_links_.at(std::min(from->id(), to->id())));
            return;
        }

        guint links[NETWORK_ROUTE_MAX];
        const guint n = network_route(platform_, static_cast<guint>(from->id()),
                                      static_cast<guint>(to->id()), links);

        for (guint i = 0; i < n; i++)
            into->link_list_.push_back(links_[links[i]]);
    }

  private:
    void add_hosts(double macs_per_s) {
        const guint n = platform_clusters(platform_);

        hosts_.reserve(n);
        for (guint cluster = 0; cluster < n; cluster++) {
            const std::string name = "cluster" + std::to_string(cluster);
            s4u::Host *host = get_iface()->create_host(name, macs_per_s);
            g_assert(host->get_netpoint()->id() == cluster);
            hosts_.push_back(host->seal());
        }
        gsm_host_ = get_iface()->create_host("gsm", macs_per_s)->seal();
    }

    void add_links() {
        const guint n = network_links(platform_);

        links_.reserve(n);
        for (guint link = 0; link < n; link++) {
            g_autofree char *name = network_link_name(platform_, link);
            links_.push_back(make_link(name, network_link(platform_, link).bytes_per_s));
        }
        for (guint cluster = 0; cluster < hosts_.size(); cluster++)
            gsm_links_.push_back(make_link("cluster" + std::to_string(cluster) + ".gsm",
                                           platform_->cluster.gsm_bytes_per_s));
    }

    LinkImpl *make_link(const std::string &name, double bytes_per_s) {
        s4u::Link *made = get_iface()->create_link(name, bytes_per_s);
        made->set_sharing_policy(s4u::Link::SharingPolicy::SHARED);
        made->set_latency(0.0);
        return made->seal()->get_impl();
    }

    const Platform *platform_;
    std::vector<s4u::Host *> hosts_;
    s4u::Host *gsm_host_ = nullptr;
    std::vector<LinkImpl *> links_;
    std::vector<LinkImpl *> gsm_links_; /* by cluster */
};

} // namespace

void topology_build(const Platform *platform, DataType type) {
    try {
        auto *zone = new TableZone(platform);
        zone->build(platform_peak_macs(platform, type));
    } catch (const std::exception &failure) {
        g_error("cannot build the topology: %s", failure.what());
    }
}

/* The zone is the root of the engine: asking the engine for it keeps this file free of state. */
static TableZone *built_zone() {
    return static_cast<TableZone *>(s4u::Engine::get_instance()->get_netzone_root()->get_impl());
}

sg_host_t topology_host(guint cluster) {
    try {
        return built_zone()->host(cluster);
    } catch (const std::exception &failure) {
        g_error("no host for cluster %u: %s", cluster, failure.what());
    }
}

sg_host_t topology_gsm_host(void) {
    return built_zone()->gsm_host();
}
