import EventSubscription
import ObjectStorage

/// A storage to which files are uploaded.
package struct UploadTarget: Sendable {
    /// The possible targets, by their names in notes, metrics and the API.
    package enum Name: String, CaseIterable, Sendable { case main, backup }

    package var name: Name
    package var place: StoragePlace
    package var keys: StorageKeys

    package init(name: Name, place: StoragePlace, keys: StorageKeys) {
        self.name = name
        self.place = place
        self.keys = keys
    }
}

/// The settings of uploads.
package struct UploadSettings: Sendable {
    package var targets: [UploadTarget]
    /// Size of parts in bytes.
    package var partBytes = PartPlan.standard
    /// Maximum number of simultaneous uploads to each target.
    package var concurrency = 2
    /// Bytes per second for all uploads together; `nil` = no limit.
    package var bytesPerSecond: Int?
    /// Maximum number of files waiting in memory per target. Further files are found later.
    package var mostWaiting = 1000
    /// Whether files stay on this machine after their objects are verified at all targets.
    package var keepsFiles = true
    /// Whether a matching size is sufficient where a storage provides no checksum.
    package var trustsSize = false
    /// Validity of links in seconds, 1…604,800.
    package var linkSeconds = 3600
    /// Time between two searches for finished files.
    package var interval: Duration = .seconds(10)
    /// Delay after the second failure of a file, doubled after each further one up to 60 times the initial value.
    package var shortestDelay: Duration = .seconds(5)
    /// Time after which a file whose uploads keep failing is given up, until the next start.
    package var giveUpAfter: Duration = .seconds(72 * 3600)

    package init(targets: [UploadTarget]) { self.targets = targets }

    /// Returns whether a file may be removed here, because its notes say that all targets have it. Blocks.
    func mayRemove(_ item: UploadItem) -> Bool {
        guard !keepsFiles else { return false }
        return targets.allSatisfy { target in
            item.notes.read(target.name.rawValue).map { $0.isStored && $0.isAt(target.place) } ?? false
        }
    }

    /// Delays between attempts, in the form used for webhooks.
    var policy: DeliveryPolicy {
        var policy = DeliveryPolicy(
            shortestDelay: shortestDelay, longestDelay: shortestDelay * 60, giveUpAfter: giveUpAfter,
            shortestBreak: shortestDelay, longestBreak: shortestDelay * 60)
        policy.concurrency = concurrency
        return policy
    }
}
