/// The HLS output of a relay, in the form of the first line that its packager reads.
public struct PlannedHLS: Hashable, Codable, Sendable {
    /// Absolute path of the room's directory, which has a subdirectory for each session.
    public var directory: String
    public var settings: HLSSettings

    public init(directory: String, settings: HLSSettings) {
        self.directory = directory
        self.settings = settings
    }
}

extension PlannedHLS: OutputDocument {
    public static let kind = "hls"
    public static let planField = OutputField("hls", .optional)
    public static let statusField = OutputField("hls", .optional)

    /// A program has at most one HLS output.
    public var outputID: OutputID { "hls" }

    public static func service(of planned: [PlannedHLS], _ statuses: [HLSStatus]) -> ServiceState {
        statuses.first?.service ?? ServiceState()
    }
}

extension HLSStatus: OutputStatusDocument {
    public var bounded: HLSStatus {
        var status = self
        status.startedAt = startedAt?.boundedSeconds
        for index in variants.indices {
            status.variants[index].width = variants[index].width.boundedCount
            status.variants[index].height = variants[index].height.boundedCount
            status.variants[index].bandwidth = variants[index].bandwidth.boundedCount
        }
        return status
    }
}

extension Sequence<PlannedOutput> {
    /// HLS of the program; `nil` means none.
    public var hls: PlannedHLS? { of(PlannedHLS.self).first }
}

extension Sequence<OutputStatus> {
    public var hls: HLSStatus? { of(HLSStatus.self).first }
}

extension ServiceStates {
    public var hls: ServiceState { self[PlannedHLS.kind] }
}
