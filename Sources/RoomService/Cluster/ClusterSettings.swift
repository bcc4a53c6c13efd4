import Foundation

/// The settings of a service that is part of a cluster.
package struct ClusterSettings: Hashable, Sendable {
    /// Name of the node, unique in the cluster.
    package var name: String
    /// Address at which other nodes reach this one, such as `http://10.0.0.1:8080`, without a slash at the end.
    package var url: String
    /// Length of the leases. The rooms of a lost node are taken over after this time.
    package var lease: Duration
    /// Maximum number of rooms; `nil` = no limit.
    package var capacity: Int?
    /// Time for which a service that is asked to stop moves its rooms before it stops.
    package var drain: Duration
    /// Label of the place where the node is, such as `eu-west`; `nil` = none.
    package var region: String?
    /// Place at which the other nodes reach this one's RTMP ingest; `nil` = they cannot reach it.
    package var ingest: IngestPlace?
    /// Address at which viewers reach this node alone, such as `https://a.mix.example`, without a slash at the end; `nil` = none.
    package var publicURL: String?
    /// The way in which viewers over HTTP-FLV and HLS get the program of a room at another node.
    package var viewers = Viewers.proxy

    /// Ways in which viewers get a program of another node.
    package enum Viewers: String, CaseIterable, Sendable {
        /// The node that they have reached passes the program on.
        case proxy
        /// They are sent to the node that has the room, if it has a `publicURL`.
        case redirect
    }

    package init(
        name: String, url: String, lease: Duration = .seconds(30), capacity: Int? = nil, drain: Duration = .zero,
        region: String? = nil
    ) {
        self.region = region
        self.drain = drain
        self.name = name
        self.url = url
        self.lease = lease
        self.capacity = capacity
    }

    /// Host of `url`, without brackets.
    package var host: String {
        let host = URLComponents(string: url)?.host ?? ""
        return host.trimmingCharacters(in: ["[", "]"])
    }

    /// Time between two renewals.
    var renewalInterval: Duration { lease / 6 }
    /// Time between two checks for rooms without a node.
    var lookInterval: Duration { min(.milliseconds(500), lease / 10) }
}
