/// Time in which the browser waits for CPUs.
extension PageMachine {
    /// Returns whether the browser's waiting time for CPUs matters now.
    func asksForProcessors(now: Int64) -> Bool {
        switch step {
        case .preparing, .starting, .loading, .crashing: true
        case .onAir(let showing):
            showing.askedAt.map { now.saturatingDifference($0) >= limits.suspicion } ?? false
        case .waiting, .prepared, .pausing, .over: false
        }
    }

    /// Records time in which the browser waited for CPUs. It extends the browser's time limits: a page is not ended
    /// because the machine is busy.
    mutating func lacked(_ time: Int64) {
        switch step {
        case .preparing(let job, let until): step = .preparing(job, until: until.saturatingSum(time))
        case .starting(let until): step = .starting(until: until.saturatingSum(time))
        case .crashing(let until, let reason, let isLoading):
            step = .crashing(until: until.saturatingSum(time), reason: reason, isLoading: isLoading)
        case .loading(var loading):
            loading.until = loading.until.saturatingSum(time)
            step = .loading(loading)
        case .onAir(var showing) where showing.askedAt != nil:
            showing.lacked = showing.lacked.saturatingSum(time)
            step = .onAir(showing)
        case .onAir, .waiting, .prepared, .pausing, .over: break
        }
    }
}
