import Foundation
import MixModel
import Testing

@testable import TaskStore

/// Prints the rate at which each store accepts events, one after another and many at once. It asserts nothing, since
/// the rates depend on the machine and on its other load.
///
///     MIX_STORE_RATES=5 swift test --filter StoreRateTests     # seconds for each figure
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["MIX_STORE_RATES"] != nil))
struct StoreRateTests {
    @Test(arguments: StoreUnderTest.all)
    func eventsPerSecond(_ kind: StoreUnderTest) async throws {
        let seconds = Double(ProcessInfo.processInfo.environment["MIX_STORE_RATES"] ?? "") ?? 5
        try await withDirectory { directory in
            let store = try kind.open(directory)
            for clients in [1, 16, 64, 512] {
                let times = await measure(store, clients: clients, seconds: seconds)
                let sorted = times.sorted()
                func quantile(_ part: Double) -> String {
                    let index = min(Int(Double(sorted.count) * part), sorted.count - 1)
                    return String(format: "%.2f", sorted[max(index, 0)] * 1000)
                }
                print(
                    "\(kind.testDescription): \(clients) clients, \(Int(Double(times.count) / seconds)) events/s, "
                        + "p50 \(quantile(0.5)) ms, p99 \(quantile(0.99)) ms")
            }
            await store.close()
        }
    }

    /// Lets each client change its own room, one event at a time. Returns the duration of each commit, in seconds.
    private func measure(_ store: any TaskStore, clients: Int, seconds: Double) async -> [Double] {
        let end = ContinuousClock.now + .seconds(seconds)
        return await withTaskGroup(of: [Double].self) { group in
            for client in 0..<clients {
                group.addTask {
                    let room = RoomID("room-\(clients)-\(client)")
                    var (version, times): (Int, [Double]) = (0, [])
                    while ContinuousClock.now < end {
                        let change = StoreChange(
                            event: event("\(version)", room: room, source: room.rawValue),
                            room: .put(Room(id: room), expected: version))
                        let start = ContinuousClock.now
                        guard (try? await store.commit(change)) == .committed else { break }
                        times.append(start.duration(to: .now).seconds)
                        version += 1
                    }
                    return times
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }
}
