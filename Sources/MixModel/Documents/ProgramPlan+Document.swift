import TextFormats

extension ProgramPlan: DocumentWritable {
    public func write(to document: inout DocumentWriter) throws {
        try document.object { plan in
            plan.field("revision", revision)
            plan.field("task", task.rawValue)
            plan.field("room", room.rawValue)
            try plan.field("sources", sources)
            try plan.field("mode", mode)
            try plan.field("scene", scene)
            try plan.field("sourceReach", ifPresent: sourceReach)
            try plan.field("outputReach", ifPresent: outputReach)
            plan.field("causedAt", causedAt)
            plan.field("cause", cause)
            plan.field("causes", ifPresent: causes)
            try plan.field("degradation", encoding: degradation)
            plan.field("tracks", ifPresent: tracks?.rawValue)
            try plan.field("encoding", encoding: encoding)
            try plan.field("sei", encoding: sei)
            for kind in OutputDocuments.all { try kind.write(outputs, to: &plan) }
            plan.field("isOfOne", ifPresent: isOfOne)
            try plan.field("idle", encoding: idle)
            try plan.field("quality", encoding: quality)
            plan.field("redundancy", ifPresent: redundancy?.rawValue)
        }
    }
}

extension ProgramPlan.Mode: DocumentWritable {
    public func write(to document: inout DocumentWriter) {
        document.object { mode in
            switch self {
            case .bypass(let source): mode.values(of: "bypass") { $0.field("_0", source.rawValue) }
            case .mix(let host): mode.values(of: "mix") { $0.field("host", host.rawValue) }
            case .slate: mode.values(of: "slate")
            }
        }
    }
}

extension PlannedSource: DocumentWritable {
    public func write(to document: inout DocumentWriter) {
        document.object { source in
            source.field("id", id.rawValue)
            source.field("url", url)
            source.field("audio", audio)
            source.field("video", video)
            source.field("tracks", ifPresent: tracks?.rawValue)
            source.field("backup", ifPresent: backup)
            source.field("muted", ifPresent: muted)
            source.field("name", ifPresent: name)
        }
    }
}

extension PushDestination: DocumentWritable {
    public func write(to document: inout DocumentWriter) throws {
        try document.object { output in
            output.field("id", id.rawValue)
            output.field("url", url)
            try output.field("retry", encoding: retry)
        }
    }
}

extension OutputDocument {
    /// Writes the documents of this kind, as `OutputField` encodes them.
    fileprivate static func write(_ outputs: [PlannedOutput], to document: inout DocumentWriter) throws {
        let documents = outputs.of(Self.self)
        guard planField.count == .list || !documents.isEmpty else { return }
        document.key(planField.name)
        if planField.count == .optional {
            try documents.first?.write(to: &document)
        } else {
            try document.array(documents) { document, output in try output.write(to: &document) }
        }
    }

    private func write(to document: inout DocumentWriter) throws {
        if let writable = self as? any DocumentWritable {
            try writable.write(to: &document)
        } else {
            try DocumentEncoder.write(self, to: &document)
        }
    }
}

extension Reach: DocumentWritable {
    public func write(to document: inout DocumentWriter) throws {
        try document.object { reach in try reach.field("places", places) }
    }
}

extension Reach.Place: DocumentWritable {
    public func write(to document: inout DocumentWriter) {
        document.object { place in
            place.field("scheme", ifPresent: scheme)
            place.field("address", address)
            place.field("port", ifPresent: port)
            place.field("name", ifPresent: name)
        }
    }
}

extension RelayCommand: DocumentWritable {
    public func write(to document: inout DocumentWriter) throws {
        try document.object { command in
            switch self {
            case .preview(let source, let picture):
                command.values(of: "preview") { values in
                    values.field("of", ifPresent: source?.rawValue)
                    values.field("picture", picture)
                }
            case .hello(let version): command.values(of: "hello") { $0.field("version", version) }
            case .apply(let plan): try command.values(of: "apply") { try $0.field("_0", plan) }
            case .drain: command.values(of: "drain")
            case .viewFLV(let keyframeRequests, let layouts):
                command.values(of: "viewFLV") { values in
                    values.field("keyframeRequests", ifPresent: keyframeRequests)
                    values.field("layouts", ifPresent: layouts)
                }
            case .requestKeyframe: command.values(of: "requestKeyframe")
            case .retryOutput(let output): command.values(of: "retryOutput") { $0.field("_0", output.rawValue) }
            case .hold(let deadline): command.values(of: "hold") { $0.field("until", deadline) }
            case .resume(let place): try command.values(of: "resume") { try $0.field("_0", encoding: place) }
            case .standBy: command.values(of: "standBy")
            }
        }
    }
}
