#include "platforms/topology.h"
#include "platforms/network.h"
#include <algorithm>
#include <exception>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

namespace routing = simgrid::kernel::routing;
namespace s4u = simgrid::s4u;

/* A zone that looks routes up in network.h. Flat: no routers and no zones inside, so the id of a
 * net point is the number of its cluster; those of GSM follow in the order in which they were asked
 * for. SimGrid owns it, through the engine, once it exists. */
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

    s4u::Host *gsm_host(guint cluster) {
        auto known = gsm_.find(cluster);
        if (known != gsm_.end())
            return known->second.host;

        const std::string name = "cluster" + std::to_string(cluster) + ".gsm";
        s4u::Link *link = get_iface()->create_link(name, platform_->cluster.gsm_bytes_per_s);
        link->set_sharing_policy(s4u::Link::SharingPolicy::SHARED);
        link->set_latency(0.0);
        s4u::Host *made = get_iface()->create_host(name, host(cluster)->get_speed())->seal();
        gsm_[cluster] = {made, link->seal()->get_impl()};
        gsm_clusters_.push_back(cluster);
        g_assert(made->get_netpoint()->id() == hosts_.size() + gsm_clusters_.size() - 1);
        return made;
    }

    void get_local_route(const routing::NetPoint *from, const routing::NetPoint *to,
                         routing::Route *into, double *) override {
        const unsigned long last = std::max(from->id(), to->id());
        if (last >= hosts_.size()) {
            const guint cluster = gsm_clusters_.at(last - hosts_.size());
            g_assert(std::min(from->id(), to->id()) == cluster);
            into->link_list_.push_back(gsm_.at(cluster).link);
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
    }

    void add_links() {
        const guint n = network_links(platform_);

        links_.reserve(n);
        for (guint link = 0; link < n; link++) {
            g_autofree char *name = network_link_name(platform_, link);
            s4u::Link *made =
                get_iface()->create_link(name, network_link(platform_, link).bytes_per_s);
            made->set_sharing_policy(s4u::Link::SharingPolicy::SHARED);
            made->set_latency(0.0);
            links_.push_back(made->seal()->get_impl());
        }
    }

    struct Gsm {
        s4u::Host *host;
        simgrid::kernel::resource::StandardLinkImpl *link;
    };

    const Platform *platform_;
    std::vector<s4u::Host *> hosts_;
    std::unordered_map<guint, Gsm> gsm_; /* by cluster */
    std::vector<guint> gsm_clusters_;    /* by net point, after those of the hosts */
    std::vector<simgrid::kernel::resource::StandardLinkImpl *> links_;
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

sg_host_t topology_gsm_host(guint cluster) {
    try {
        return built_zone()->gsm_host(cluster);
    } catch (const std::exception &failure) {
        g_error("no GSM for cluster %u: %s", cluster, failure.what());
    }
}
