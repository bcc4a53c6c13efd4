/// Repeated offers of something that must not be lost, while its receiver has no room.
enum RepeatedOffer {
    /// Offers it every 20 ms until it is taken or the task is cancelled.
    ///
    /// - Parameter offer: Returns whether it was taken. Called at least once.
    static func untilTaken(_ offer: () -> Bool) async {
        while !offer(), (try? await Task.sleep(for: .milliseconds(20))) != nil {}
    }
}
