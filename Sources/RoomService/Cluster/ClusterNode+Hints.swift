import TaskStore

extension ClusterNode {
    /// Reacts at once to other nodes' hints, until the store is closed or the task is cancelled. The regular checks
    /// find what no hint reports.
    func followHints() async {
        for await hint in base.hints() {
            switch hint {
            case .rooms: await takeRooms()
            case .subscriptions: await followSubscriptions()
            case .layouts: followLayouts()
            case .departure:
                await takeRooms()
                await deliverForOthers()
            case .anything:
                followLayouts()
                await takeRooms()
                await followSubscriptions()
                await deliverForOthers()
            }
        }
    }
}
