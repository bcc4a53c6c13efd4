/// The used or promised part of each of this machine's resources that can run out. 0 = none, 1 = all, more if tasks
/// wait. Pure.
package struct LoadRatios: Hashable, Sendable {
    /// Cores that tasks on air need at full quality, plus those that waiting tasks need; `nil` = no limit.
    package var cpu: Double?
    /// Memory that processes cannot allocate any more; `nil` if the system does not report it.
    package var memory: Double?
    /// Rooms of this node; `nil` = no limit, or no cluster.
    package var rooms: Double?
    /// Viewers over HTTP-FLV; `nil` = no limit.
    package var viewers: Double?

    /// - Parameters:
    ///   - load: Figures of the tasks.
    ///   - memory: Content of `/proc/meminfo`; `nil` if it cannot be read.
    ///   - rooms: Number of rooms of this node and its limit; `nil` without a cluster.
    ///   - viewers: Number of viewers and its limit; `Int.max` = no limit.
    package init(
        load: MachineLoad.Figures, memory: String?, rooms: (count: Int, limit: Int?)?,
        viewers: (count: Int, limit: Int)
    ) {
        cpu = load.capacity.map { (($0 - (load.availableCores ?? 0)) + load.waitingCores) / max($0, 0.01) }
        if let (total, free) = memory.flatMap(MachineMemory.kilobytes), total > 0 {
            self.memory = 1 - min(1, free / total)
        }
        if let rooms, let limit = rooms.limit { self.rooms = Double(rooms.count) / Double(max(limit, 1)) }
        if viewers.limit < .max { self.viewers = Double(viewers.count) / Double(max(viewers.limit, 1)) }
    }

    /// The known ratios with the values of the label `resource`.
    package var samples: [(labels: [String], value: Double)] {
        [("cpu", cpu), ("memory", memory), ("rooms", rooms), ("viewers", viewers)]
            .compactMap { name, ratio in ratio.map { ([name], $0) } }
    }
}
