import EncodedMedia
import LayoutEngine

/// The JSON that services of other releases read: each kind of output has a field of its own.
extension RelayStatus: Codable {
    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: FieldName.self)
        self.init(
            task: try object.decode(TaskID.self, forKey: "task"),
            processID: try object.decode(Int32.self, forKey: "processID"),
            revision: try object.decode(Int.self, forKey: "revision"),
            onAir: try object.decodeIfPresent(OnAir.self, forKey: "onAir"),
            bypassSource: try object.decodeIfPresent(SourceID.self, forKey: "bypassSource"),
            scene: try object.decodeIfPresent(Scene.self, forKey: "scene"),
            sources: try object.decode([SourceStatus].self, forKey: "sources"),
            outputs: try [OutputStatus](from: object, of: OutputDocuments.all),
            programTime: try object.decode(MediaTime.self, forKey: "programTime"),
            mixerError: try object.decodeIfPresent(String.self, forKey: "mixerError"),
            load: try object.decodeIfPresent(RelayLoad.self, forKey: "load"),
            sharesProcess: try object.decodeIfPresent(Bool.self, forKey: "sharesProcess") ?? false,
            idle: try object.decodeIfPresent(IdleStatus.self, forKey: "idle"),
            place: try object.decodeIfPresent(ProgramPlace.self, forKey: "place"),
            isSilent: try object.decodeIfPresent(Bool.self, forKey: "isSilent") ?? false)
    }

    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: FieldName.self)
        try object.encode(task, forKey: "task")
        try object.encode(processID, forKey: "processID")
        try object.encode(revision, forKey: "revision")
        try object.encodeIfPresent(onAir, forKey: "onAir")
        try object.encodeIfPresent(bypassSource, forKey: "bypassSource")
        try object.encodeIfPresent(scene, forKey: "scene")
        try object.encode(sources, forKey: "sources")
        try object.encode(programTime, forKey: "programTime")
        try object.encodeIfPresent(mixerError, forKey: "mixerError")
        try object.encodeIfPresent(load, forKey: "load")
        if sharesProcess { try object.encode(sharesProcess, forKey: "sharesProcess") }
        try object.encodeIfPresent(idle, forKey: "idle")
        try object.encodeIfPresent(place, forKey: "place")
        if isSilent { try object.encode(isSilent, forKey: "isSilent") }
        try outputs.encode(to: &object, of: OutputDocuments.all)
    }
}
