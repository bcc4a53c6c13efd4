import Testing

@testable import RoomService

struct UploadQueueTests {
    private static func item(_ number: Int) -> UploadItem {
        UploadItem(
            kind: .recording, room: "demo", file: "\(number).mp4", path: "/\(number).mp4", version: "1",
            notes: UploadNotes(path: "/\(number)"))
    }

    @Test func filesComeInTheirOrderAndOnce() {
        var queue = UploadQueue(most: 10)
        for number in 1...3 { #expect(queue.offer(Self.item(number)) == .taken) }
        #expect(queue.offer(Self.item(2)) == .known)
        #expect(queue.take(2, now: 0).map(\.file) == ["1.mp4", "2.mp4"])
        #expect(queue.offer(Self.item(1)) == .known, "it is running")
        #expect(queue.isRunning("/1.mp4") && !queue.isRunning("/3.mp4"))
        #expect(queue.counts == ["waiting": 1, "uploading": 2, "retrying": 0])
        #expect(queue.take(0, now: 0).isEmpty && queue.take(-1, now: 0).isEmpty)
        queue.finish(Self.item(1))
        #expect(queue.offer(Self.item(1)) == .taken)
    }

    @Test func theQueueIsBounded() {
        var queue = UploadQueue(most: 100)
        for number in 0..<1000 { #expect(queue.offer(Self.item(number)) == (number < 100 ? .taken : .full)) }
        #expect(queue.count == 100)
        let running = queue.take(1000, now: 0)
        #expect(running.count == 100 && queue.offer(Self.item(1000)) == .full, "those that run count, too")
        queue.delay(running[0], until: 5)
        #expect(queue.offer(Self.item(1000)) == .full, "and those that failed")
        queue.finish(running[0])
        #expect(queue.offer(Self.item(1000)) == .taken)
    }

    @Test func filesThatFailedWaitBehindNewOnes() {
        var queue = UploadQueue(most: 10)
        _ = queue.offer(Self.item(1))
        _ = queue.offer(Self.item(2))
        for item in queue.take(2, now: 0) { queue.delay(item, until: item.file == "1.mp4" ? 20 : 10) }
        #expect(queue.nextDue == 10 && queue.take(2, now: 9).isEmpty && queue.counts["retrying"] == 2)
        _ = queue.offer(Self.item(3))
        #expect(queue.take(2, now: 30).map(\.file) == ["3.mp4", "2.mp4"])
        #expect(queue.take(2, now: 30).map(\.file) == ["1.mp4"] && queue.nextDue == nil)
    }
}
