import TaskStore

extension ClusterNode {
    /// Looks at once for what another node tells of, until the store is closed or the task is cancelled. What is not told is
    /// found by the looks that go on beside.
    func followHints() async {
        for await hint in base.hints() {
            switch hint {
            case .rooms: await takeRooms()
            case .subscriptions: await followSubscriptions()
            case .departure:
                await takeRooms()
                await deliverForOthers()
            case .anything:
                await takeRooms()
                await followSubscriptions()
                await deliverForOthers()
            }
        }
    }
}
