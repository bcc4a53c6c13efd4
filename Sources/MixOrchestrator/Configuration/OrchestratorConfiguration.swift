import ChildProcesses
import Configuration
import EventSubscription
import Foundation
import HTTPInterface
import LayoutEngine
import Logging
import MixModel
import RoomService

/// All settings of the service, checked. `ConfigurationKeys` lists the keys.
struct OrchestratorConfiguration: Sendable {
    var listen: ListenAddress
    var http: HTTPSettings
    var playback: PlaybackSettings
    /// Directory of segments and playlists, absolute.
    var hlsDirectory: String
    /// Hours for which retained HLS is kept after it has ended; 0 means forever.
    var hlsRetentionHours: Int
    /// Tenants besides the standard one, and the tokens of all of them.
    var apps: AppSettings
    /// Directory of the store and the relays' sockets, absolute.
    var data: String
    var store: StoreConfiguration
    /// The settings of a node in a cluster; `nil` means that this service runs alone.
    var node: ClusterSettings?
    /// Directory of layouts, absolute.
    var layouts: String
    /// Path of `mixworker`.
    var worker: String
    var sources: AllowList
    /// Directory of idle media, absolute; `nil` means that rooms can play only media from URLs.
    var mediaDirectory: String?
    var urlTemplate: String?
    /// Callbacks of media servers.
    var hooks: HookRules
    /// The service's own RTMP server; `nil` means off.
    var ingest: IngestConfiguration?
    /// Web Call Server's interface; `nil` means off.
    var wcs: WCSSettings?
    /// 100ms' server API; `nil` means off.
    var hundredms: HMSSettings?
    /// Socket.IO; `nil` means off.
    var socketIO: SocketIOSettings?
    /// Publishers over WebRTC; `nil` means off.
    var webrtc: WebRTCConfiguration?
    /// Pictures of participants and programs for operators; `nil` means off.
    var thumbnails: Previews.Settings?
    /// The rules of web pages as sources; `nil` means that they are refused.
    var pages: PageRules?
    /// The rooms' channels; `nil` means off.
    var channel: ChannelConfiguration?
    var outputs: AllowList
    /// Endpoints to which messages to subscribers may be posted.
    var callbacks: AllowList
    /// Outputs of rooms without their own. `{room}` and `{app}` are replaced in the URLs.
    var roomOutputs: [PushDestination]
    var roomLayout: String
    var roomCanvas: RoomCanvas
    /// Whether rooms that name no outputs get a program even if none are configured. An empty list forbids that.
    var playsWithoutOutputs: Bool
    /// Seconds for which a relay runs without an orchestrator, 1…86400.
    var orphanTimeout: Int
    /// Whether a mixer process is kept ready for each bypass that others may join.
    var keepsMixersReady: Bool
    /// Whether one process makes the mixers of all relays.
    var forksMixers: Bool
    /// Maximum number of programs that share a relay process.
    var programsPerProcess: Int
    /// Time in ms, 0…10, for which packets of calm programs of such a process may collect.
    var quantum: Int
    /// Encoder of mixers: `software`, `auto`, or the name of a kind.
    var encoder: String
    /// Limits of relays and of the workers that they start.
    var limits: WorkerLimits
    /// Whether relays stay on air when the service is shut down.
    var keepsRelays: Bool
    var logLevel: Logger.Level
    var logFormat: LogFormat
    /// Directory of recordings, and the disk space to keep free.
    var recordings: RecordingPlace
    /// Uploads of recordings and archives; `nil` means off.
    var uploads: UploadConfiguration?
    /// Limits on the programs' use of the machine.
    var load: LoadSettings

    /// Settings from the command line, which override all others.
    struct Overrides: Sendable {
        var listen: String?
        var data: String?
        var layouts: String?
        var keepsRelays = false
        var logFormat: LogFormat?
    }

    /// Creates the configuration from the values of a reader.
    ///
    /// - Parameters:
    ///   - reader: Values of the environment over those of the file; see `ConfigurationKeys.reader`.
    ///   - file: Path of the reader's file.
    /// - Throws: `StartupError` that names the key and the expected value.
    init(_ reader: ConfigReader, file: String? = nil, overrides: Overrides = Overrides()) throws {
        let values = ConfigurationValues(reader)
        apps = try AppSettings(values, file: file)
        listen = try ListenAddress(
            overrides.listen ?? values.text("http.listen") ?? "127.0.0.1:8080", key: "http.listen",
            hasTokens: !apps.tokens.isEmpty)
        http = try HTTPSettings(values)
        playback = try PlaybackSettings(values, file: file)
        data = Self.absolute(overrides.data ?? values.text("data") ?? "./data")
        layouts = Self.absolute(overrides.layouts ?? values.text("layouts") ?? "./layouts")
        hlsDirectory = values.text("hls.directory").map(Self.absolute) ?? data + "/hls"
        hlsRetentionHours = try values.integer("hls.retentionHours", in: 0...87_600) ?? 168
        worker = values.text("worker").map(Self.absolute) ?? Self.defaultWorker
        store = try StoreConfiguration(values, file: file)
        node = try ClusterSettings(values, store: store)
        // With tokens, loopback belongs to the operator: a tenant must not reach other services of this machine.
        let whenEmpty: AllowList.WhenEmpty = apps.tokens.isEmpty ? .loopback : .nothing
        sources = try values.allowList("sources.allow", whenEmpty: whenEmpty)
        urlTemplate = values.text("sources.urlTemplate")
        hooks = try HookRules(values, apps: apps.ids, file: file)
        outputs = try values.allowList("outputs.allow", whenEmpty: whenEmpty)
        callbacks = try values.allowList("callbacks.allow", whenEmpty: whenEmpty)
        ingest = try IngestConfiguration(values, apps: apps, callbacks: callbacks, node: node, file: file)
        node?.ingest = ingest?.rules.advertised
        wcs = try WCSSettings(values, callbacks: callbacks, file: file)
        webrtc = try WebRTCConfiguration(values, apps: apps, ingest: ingest, file: file)
        thumbnails = try Previews.Settings(values)
        pages = try PageRules(values, ingest: ingest)
        hundredms = try HMSSettings(values, apps: apps, sources: sources, callbacks: callbacks, file: file)
        channel = try ChannelConfiguration(values, apps: apps, playback: playback, file: file)
        socketIO = try SocketIOSettings(values, channel: channel)
        roomOutputs = try values.outputs("rooms.outputs", allowed: outputs)
        playsWithoutOutputs = !values.isSet("rooms.outputs")
        roomLayout = values.text("rooms.layout") ?? LayoutLibrary.automaticName
        roomCanvas = try RoomCanvas(values)
        orphanTimeout = try values.integer("relay.orphanTimeout", in: 1...86_400) ?? 300
        keepsMixersReady = try values.flag("relay.readyMixer") ?? true
        forksMixers = try values.flag("mixer.forkServer") ?? true
        programsPerProcess = try values.integer("relay.programsPerProcess", in: 1...64) ?? 1
        quantum = try values.integer("relay.quantum", in: 0...10) ?? 0
        encoder = try values.encoder("mixer.encoder") ?? "software"
        mediaDirectory = values.text("media.directory").map(Self.absolute)
        limits = WorkerLimits(
            memory: try values.workerMemory(), images: data + "/images",
            media: [mediaDirectory, MediaLibrary.downloads(in: data)].compactMap(\.self),
            outputs: values.text("outputs.directory").map(Self.absolute))
        keepsRelays = try overrides.keepsRelays || values.flag("relay.keep") ?? false
        logLevel = try values.choice("log.level") ?? .info
        logFormat = try overrides.logFormat ?? values.choice("log.format") ?? .text
        recordings = RecordingPlace(
            directory: values.text("recording.directory").map(Self.absolute) ?? data + "/recordings",
            keepFreeBytes: try values.integer("recording.keepFreeBytes", in: 0...1 << 50).map(Int64.init)
                ?? RecordingPlace.defaultKeepFreeBytes,
            node: node?.name)
        uploads = try UploadConfiguration(values, file: file)
        load = LoadSettings(
            cores: try values.number("admission.cores", in: 0...4096),
            utilisation: try values.number("admission.utilisation", in: 0.1...1) ?? LoadSettings().utilisation,
            highestLevel: try values.integer("overload.highestLevel", in: 0...Degradation.highest)
                ?? Degradation.highest)
    }

    static func absolute(_ path: String) -> String {
        URL(fileURLWithPath: path).standardizedFileURL.path
    }

    /// Path of `mixworker` next to this executable.
    static var defaultWorker: String {
        let own =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("mixworker").path
    }
}
