#include "platforms/topology_mesh.h"
#include <array>
#include <cstdio>
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

enum Side { EAST, WEST, SOUTH, NORTH, N_SIDES };

struct Place {
    guint x, y;
};

/* The place on the other side of a core's link, to be looked up only where there is one. */
Place neighbour(Place place, int side) {
    static const int dx[N_SIDES] = {1, -1, 0, 0}, dy[N_SIDES] = {0, 0, 1, -1};

    return {place.x + static_cast<guint>(dx[side]), place.y + static_cast<guint>(dy[side])};
}

/* A zone that walks its routes core by core instead of storing them. Flat: no routers and no zones
 * inside, so the id of a net point is the number of its core. A route's latency is added up here;
 * the links themselves carry bandwidth alone. SimGrid owns the zone, through the engine, once it
 * exists. */
class MeshZone : public routing::NetZoneImpl {
  public:
    explicit MeshZone(const TopologyMesh &mesh) : NetZoneImpl("mesh"), mesh_(mesh) {
    }

    void build() {
        add_hosts();
        add_links();
        get_iface()->seal();
    }

    s4u::Host *host(Place place) const {
        g_assert(exists(place));
        return hosts_[index_of(place)];
    }

    void get_local_route(const routing::NetPoint *from, const routing::NetPoint *to,
                         routing::Route *into, double *latency) override {
        Place at = place_of(static_cast<guint>(from->id()));
        const Place end = place_of(static_cast<guint>(to->id()));
        const std::size_t before = into->link_list_.size();

        while (at.x != end.x)
            at = step(at, at.x < end.x ? EAST : WEST, into);
        while (at.y != end.y)
            at = step(at, at.y < end.y ? SOUTH : NORTH, into);
        if (latency != nullptr)
            *latency += static_cast<double>(into->link_list_.size() - before) * mesh_.hop_s;
    }

  private:
    /* Crosses the link on one side; a folded mesh lacks the routes that begin in column 0 and end
     * in row 0, whose corner is a core that does not exist. */
    Place step(Place at, Side side, routing::Route *into) const {
        LinkImpl *link = links_[index_of(at)][side];

        g_assert(link != nullptr);
        into->link_list_.push_back(link);
        return neighbour(at, side);
    }

    /* Places beyond the first row or column wrap to huge numbers and so do not exist either. */
    bool exists(Place place) const {
        return place.x < mesh_.columns && place.y < mesh_.rows &&
               (!mesh_.folded || place.x == 0 || place.y == 0);
    }

    /* Row by row; of a folded mesh row 0, then the rest of column 0. */
    std::size_t index_of(Place place) const {
        if (mesh_.folded)
            return place.y == 0 ? place.x : std::size_t{mesh_.columns} + place.y - 1;
        return std::size_t{place.y} * mesh_.columns + place.x;
    }

    Place place_of(guint index) const {
        if (mesh_.folded)
            return index < mesh_.columns ? Place{index, 0} : Place{0, index - mesh_.columns + 1};
        return {index % mesh_.columns, index / mesh_.columns};
    }

    guint n_cores() const {
        return mesh_.folded ? mesh_.columns + mesh_.rows - 1 : mesh_.columns * mesh_.rows;
    }

    /* Millions of names: "r0012c0034e" fits into a std::string without memory of its own, and zeros
     * in front keep them in order, so that each goes next to the last in SimGrid's sorted tables.
     */
    static std::string name_of(Place place, const char *suffix) {
        char text[32];
        const int length =
            std::snprintf(text, sizeof text, "r%04uc%04u%s", place.y, place.x, suffix);

        return std::string(text, static_cast<std::size_t>(length));
    }

    /* Cores wait for their cycles to pass rather than compute, so any speed will do. */
    void add_hosts() {
        const guint n = n_cores();
        const std::vector<double> speed = {1.0};

        hosts_.reserve(n);
        for (guint core = 0; core < n; core++) {
            s4u::Host *host = get_iface()->create_host(name_of(place_of(core), ""), speed);
            g_assert(host->get_netpoint()->id() == core);
            hosts_.push_back(host->seal());
        }
    }

    void add_links() {
        static const char *const suffixes[N_SIDES] = {"e", "w", "s", "n"};
        const guint n = n_cores();
        const std::vector<double> bandwidth = {mesh_.bytes_per_s};

        links_.resize(n); /* all null */
        for (guint core = 0; core < n; core++)
            for (int side = 0; side < N_SIDES; side++) {
                const Place place = place_of(core);
                if (!exists(neighbour(place, side)))
                    continue;
                s4u::Link *link =
                    get_iface()->create_link(name_of(place, suffixes[side]), bandwidth);
                links_[core][side] = link->seal()->get_impl();
            }
    }

    TopologyMesh mesh_;
    std::vector<s4u::Host *> hosts_;                     /* by core */
    std::vector<std::array<LinkImpl *, N_SIDES>> links_; /* leaving a core; null at an edge */
};

} // namespace

void topology_mesh_build(const TopologyMesh *mesh) {
    g_assert(mesh->columns > 0 && mesh->rows > 0 && mesh->bytes_per_s > 0 && mesh->hop_s > 0);
    try {
        auto *zone = new MeshZone(*mesh);
        zone->build();
    } catch (const std::exception &failure) {
        g_error("cannot build the mesh: %s", failure.what());
    }
}

/* The zone is the root of the engine: asking the engine for it keeps this file free of state. */
sg_host_t topology_mesh_host(guint x, guint y) {
    auto *zone =
        static_cast<MeshZone *>(s4u::Engine::get_instance()->get_netzone_root()->get_impl());

    return zone->host({x, y});
}
