import EventSubscription
import Foundation
import MixModel
import RoomService
import TextFormats

/// Republishing of Web Call Server's interface: outputs of mixers, and tasks that copy one stream.
///
/// The push with the identifier ID is the task `push-ID`, or the output `push-ID` of a mixer's task.
struct WCSPushes: Sendable {
    let registry: RoomRegistry
    let settings: RoomSettingsReader
    let mixers: WCSMixers

    static let prefix = "push-"

    func start(_ call: WCSCall) async throws -> [String: JSONValue] {
        let name = try call.required("streamName", "the name of a stream or a mixer's stream")
        let url = try call.required("rtmpUrl", "the URL to push to, as rtmp://host/app")
        let isWhole = call.fields.flag("rtmpTransponderFullUrl") ?? false
        let id = UUID().uuidString.lowercased()
        let target = isWhole ? url : url + (url.utf8.last == UInt8(ascii: "/") ? "" : "/") + "rtmp_" + Self.key(name)
        let document = JSONValue.object(["id": .string(Self.prefix + id), "url": .string(target)])
        if let mixer = await mixers.mixer(ofStream: name, app: call.app) {
            let (owner, _, _) = try await registry.task(mixer)
            let output = try settings.output(document, "", owner.id)
            let change = SettingsChange(task: mixer, summary: "output \(output.id) added by API") {
                current, outputs throws(OrchestratorError) in
                guard outputs.count < RoomSettingsReader.mostOutputs else {
                    throw OrchestratorError(
                        .conflict, "too-many-outputs", "The mixer has the maximum number of outputs",
                        detail:
                            "it has \(RoomSettingsReader.mostOutputs) outputs: end one with /rest-api/push/terminate")
                }
                guard !outputs.contains(where: { RoomSettingsReader.isSame($0, output) }) else { throw Self.taken }
                var changed = current
                changed.outputs = outputs + [output]
                return changed
            }
            _ = try await owner.configure(change, at: call.receivedAt)
        } else {
            guard case .success(let found) = mixers.names(name, call.app),
                try await registry.snapshot(found.room)?.room.document.participant(found.user)?.streams
                    .contains(where: { $0.kind == found.stream }) == true
            else {
                throw OrchestratorError.notFound(
                    "stream", name.shortened(toBytes: 100), cure: "streams are named as in /rest-api/stream/find_all")
            }
            let output = try settings.output(document, "", found.room)
            var task = RoomSettings(outputs: [output])
            task.program = ProgramSettings(
                composition: .single(SourceSelection(user: found.user, kind: found.stream)))
            _ = try await registry.owner(found.room).make(
                NewTask(id: TaskID(app: call.app, name: Self.prefix + id), settings: task), at: call.receivedAt)
        }
        return Self.entry(id, name, target)
    }

    /// Returns the name in a form that is valid in a URL.
    private static func key(_ name: String) -> String { PercentEncoding.encoded(name) }

    func list(_ call: WCSCall) async throws -> [JSONValue] {
        var entries: [JSONValue] = []
        for id in registry.services.taskIndex.tasks(of: call.app) {
            let isMixer = id.name.startsInUTF8(with: WCSMixers.prefix)
            guard isMixer || id.name.startsInUTF8(with: Self.prefix), let (_, view, _) = try? await registry.task(id),
                !WCSMixers.isOver(view.endReason),
                let task = try await registry.snapshot(of: id)?.task(id)?.machine.document
            else { continue }
            for output in task.settings?.outputs ?? [] where output.id.rawValue.startsInUTF8(with: Self.prefix) {
                var name = view.room
                if case .single(let source)? = task.settings?.program?.composition {
                    name = WCSStreamName.text(
                        StreamNames(room: task.room, user: source.user, stream: source.kind ?? .camera))
                }
                entries.append(
                    .object(Self.entry(String(output.id.rawValue.dropFirst(Self.prefix.count)), name, output.url)))
            }
        }
        return entries
    }

    func stop(_ call: WCSCall) async throws {
        let id =
            Self.prefix
            + (try EventParser.identifier(
                try call.required("mediaSessionId", "the identifier of a push"), field: "mediaSessionId"))
        let task = TaskID(app: call.app, name: id)
        if let (owner, view, _) = try? await registry.task(task), !WCSMixers.isOver(view.endReason) {
            _ = try await owner.stopTask(task, at: call.receivedAt)
            return
        }
        for mixer in registry.services.taskIndex.tasks(of: call.app)
        where mixer.name.startsInUTF8(with: WCSMixers.prefix) {
            let settings = try await registry.snapshot(of: mixer)?.task(mixer)?.machine.document.settings
            guard settings?.outputs?.contains(where: { $0.id == OutputID(id) }) == true,
                let (owner, view, _) = try? await registry.task(mixer), !WCSMixers.isOver(view.endReason)
            else { continue }
            var change = SettingsChange(task: mixer, summary: "output \(id) removed by API") {
                current, outputs throws(OrchestratorError) in
                var changed = current
                changed.outputs = outputs.filter { $0.id != OutputID(id) }
                return changed
            }
            change.mayLeaveNoOutput = true
            _ = try await owner.configure(change, at: call.receivedAt)
            return
        }
        throw OrchestratorError.notFound(
            "push", String(id.dropFirst(Self.prefix.count)), cure: "pushes are listed by /rest-api/push/find_all")
    }

    private static let taken = OrchestratorError(
        .conflict, "output-taken", "The destination is in use", detail: "the mixer pushes to this URL", field: "rtmpUrl"
    )

    /// Returns the entry of a push. Its URL lacks the stream key, which the caller knows and others need not see.
    private static func entry(_ id: String, _ name: String, _ url: String) -> [String: JSONValue] {
        [
            "mediaSessionId": .string(id), "streamName": .string("rtmp_" + name),
            "rtmpUrl": .string(StreamURL.redacted(url)),
            "muted": .boolean(false), "soundEnabled": .boolean(false), "options": .object([:]),
        ]
    }
}
