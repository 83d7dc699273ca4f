// The live page: reads the stream of the service, and shows what it says. Texts are set as texts, so that no name is ever markup.
// The stream is read by fetch, since a key is sent as a header, and an EventSource could only send it in the address.
"use strict";

(() => {
  const { element, short } = Plots, by = (id) => document.getElementById(id);
  const rates = new Map(), speeds = [];
  let key = "", chosen = "", stop = new AbortController(), lastEvent = "", began = 0;

  function say(text, bad = false) {
    if (by("status").textContent !== text) by("status").textContent = text;
    by("status").className = bad ? "bad" : "";
  }

  const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB");
  const whole = (value) => value.toLocaleString("en");

  function rate(name, asked, time) {
    const known = rates.get(name) ?? [];
    known.push([time, asked]);
    while (known.length > 1 && time - known[0][0] > 5) known.shift();
    rates.set(name, known);
    const [from, before] = known[0];
    return time > from && asked >= before ? (asked - before) / (time - from) : 0;
  }

  function state(cell, value) {
    cell.textContent = value === null || value === undefined ? "none" : value === "on" ? "on" : "fallen back";
    cell.className = value === "on" ? "on" : value ? "fallen" : "";
  }

  function listed(shown) {
    const body = by("boosters"), rows = new Map([...body.children].map((row) => [row.dataset.name, row]));
    by("none").hidden = shown.boosters.length > 0;
    for (const [place, one] of shown.boosters.entries()) {
      let row = rows.get(one.name);
      if (row === undefined) {
        row = element("tr");
        row.dataset.name = one.name;
        const head = element("th", undefined, { scope: "row" }), button = element("button", one.name, { type: "button" });
        button.addEventListener("click", () => { chosen = one.name; speeds.length = 0; stop.abort(); });
        head.append(button);
        row.append(head, ...Array.from({ length: 5 }, () => element("td")));
      }
      rows.delete(one.name);
      if (body.children[place] !== row) body.insertBefore(row, body.children[place] ?? null); // a row that is moved loses the focus
      row.className = one.name === shown.chosen ? "chosen" : "";
      row.querySelector("button").setAttribute("aria-pressed", String(one.name === shown.chosen));
      const cells = row.querySelectorAll("td");
      if (one.problem) { cells[0].textContent = one.problem; continue; }
      one.rate = rate(one.name, one.asked, shown.time);
      [short(Number(one.rate.toFixed(1))), whole(one.rounds), whole(one.in_flight), whole(one.late)].forEach((text, k) => { cells[k].textContent = text; });
      state(cells[4], one.state);
    }
    for (const row of rows.values()) row.remove();
  }

  function fact(name, value, more = "", kind = "") {
    const part = element("div"), dd = element("dd", value, kind ? { class: kind } : {});
    if (more) dd.append(element("small", more));
    part.append(element("dt", name), dd);
    return part;
  }

  function facts(one, speed) {
    const sign = one.maximize ? -1 : 1, unit = one.maximize ? "reward" : "loss", guard = one.guard;
    const parts = [
      fact("Decisions a second", short(Number(speed.toFixed(1))), `${whole(one.asked)} in all`),
      fact("Rounds told", whole(one.told), one.told ? `mean ${unit} ${short((sign * one.paid) / one.told)}` : ""),
      fact("In flight", whole(one.in_flight), one.in_flight ? `the oldest for ${short(Math.round(one.oldest_seconds))} s` : ""),
      fact("Answers too late", whole(one.late)),
      fact("Drift alarms", one.drifts === null ? "not watched" : whole(one.drifts)),
    ];
    if (guard !== null) {
      const [low, high] = guard.interval, kind = guard.state === "on" ? "on" : "fallen";
      const count = `${whole(guard.rounds.booster)} rounds of the booster, ${whole(guard.rounds.baseline)} of the baseline`;
      const sure = `${Math.round(guard.confidence * 100)} % at all times${guard.asymptotic ? ", asymptotic" : ""}`;
      const before = guard.rounds_before_comparing, waits = before ? `compared after ${whole(before)} more rounds` : count;
      parts.push(fact("Guard", guard.state, waits, kind));
      parts.push(fact("Lost more than the baseline", `${short(guard.difference)} a round`, low === null ? "no interval yet" : `${short(low)} to ${short(high)}, ${sure}`));
    }
    by("facts").replaceChildren(...parts);
  }

  function plots(one, speed, time) {
    const past = one.history, sign = one.maximize ? -1 : 1, unit = one.maximize ? "reward" : "loss";
    const flip = (column) => column.map((value) => (value === null ? null : sign * value));
    const last = (column) => column.findLast((value) => value !== null);
    const marks = one.events.filter((event) => ["drift", "fall-back", "resumed"].includes(event.event)).map((event) => event.round);
    const compared = last(past.baseline) === undefined ? "" : `, of the baseline ${short(sign * last(past.baseline))}`;
    Plots.show("paid", [past.round, flip(past.booster), flip(past.baseline)], {
      title: `Mean ${unit} a round`, x: "rounds told", unit, says: `The latest of the booster is ${short(sign * last(past.booster))}${compared}.`,
    }, marks);
    Plots.show("difference", [past.round, past.difference, past.high, past.low], {
      title: "Lost more than the baseline, a round", x: "rounds told", unit: "difference", hidden: one.guard === null,
      says: one.guard === null ? "" : `The estimate is ${short(one.guard.difference)}, and the interval ${short(one.guard.interval[0])} to ${short(one.guard.interval[1])}.`,
    }, marks);
    Plots.show("width", [past.round, past.width], {
      title: "How far decisions lie from predictions", x: "rounds told", unit: "distance", says: `The latest is ${short(last(past.width))}.`,
    });
    began ||= time;
    speeds.push([time - began, speed]);
    if (speeds.length > 240) speeds.shift();
    Plots.show("speed", [speeds.map(([at]) => Math.round(at)), speeds.map(([, value]) => value)], {
      title: "Decisions a second", x: "seconds since this page was opened", unit: "decisions a second", says: `Now ${short(speed)}.`,
    });
  }

  function rows(one) {
    const sign = one.maximize ? -1 : 1;
    by("loss-title").textContent = one.maximize ? "Reward" : "Loss";
    const named = (value, k) => (one.decision[k] === undefined ? short(value) : `${one.decision[k]} ${short(value)}`);
    by("latest").replaceChildren(...one.latest.map((line) => {
      const row = element("tr"), loss = line.loss === null ? "waiting" : short(sign * line.loss);
      row.append(element("th", line.ticket, { scope: "row" }), ...[clock(line.time), line.action.map(named).join(", "), line.policy ?? "booster", loss].map((text) => element("td", text)));
      return row;
    }));
    const newest = JSON.stringify(one.events[0] ?? "");
    by("no-events").hidden = one.events.length > 0;
    if (newest === lastEvent) return;
    lastEvent = newest;
    by("events").replaceChildren(...one.events.map((event) => {
      const item = element("li"), when = element("time", `${event.event}, round ${whole(event.round)}, ${clock(event.time)}${event.by ? `, by the key ${event.by}` : ""}`);
      item.append(when, event.text);
      return item;
    }));
  }

  function show(shown) {
    by("boosters-part").hidden = false;
    listed(shown);
    const one = shown.booster;
    by("detail").hidden = one === null;
    if (one === null) return;
    by("detail-title").textContent = shown.chosen;
    const speed = shown.boosters.find((line) => line.name === shown.chosen)?.rate ?? 0;
    facts(one, speed);
    plots(one, speed, shown.time);
    rows(one);
  }

  function ask(text) {
    by("key-form").hidden = false;
    say(text, key !== "");
    return new Promise((go) => {
      by("key-form").onsubmit = (event) => {
        event.preventDefault();
        key = by("key").value.trim();
        by("key").value = "";
        by("key-form").hidden = true;
        go();
      };
      by("key").focus();
    });
  }

  async function read() {
    stop = new AbortController();
    const headers = key ? { authorization: `Bearer ${key}` } : {};
    const answer = await fetch(`/v1/live?booster=${encodeURIComponent(chosen)}`, { headers, cache: "no-store", signal: stop.signal });
    if (answer.status === 401 || answer.status === 403) return ask("This key is not taken. Try another one.");
    if (!answer.ok) throw new Error((await answer.json()).detail);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return undefined;
      text += value;
      const parts = text.split("\n\n");
      text = parts.pop();
      for (const part of parts) {
        show(JSON.parse(part.slice("data: ".length)));
        say("Live");
      }
    }
  }

  async function go() {
    if (document.body.dataset.keys === "yes") await ask("This service needs a key.");
    for (;;) {
      try {
        await read();
      } catch (error) {
        if (error.name === "AbortError") continue;
        say("The service does not answer. Trying again …", true);
        await new Promise((wait) => setTimeout(wait, 700));
      }
    }
  }

  go();
})();
